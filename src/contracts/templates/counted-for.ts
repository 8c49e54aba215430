import {
  type Context,
  type Emitter,
  evalToken,
  ForTag,
  type Liquid,
  type Parser,
  type TagToken,
  type TopLevelToken,
} from 'liquidjs'
import { TEMPLATE_LIMITS } from './limits.ts'

/** A loop counts its body once for each round, before it begins. So nested loops end after a bounded number of steps. */
export class CountedFor extends ForTag {
  readonly #roundWork: number

  constructor(token: TagToken, remaining: TopLevelToken[], liquid: Liquid, parser: Parser) {
    const before = remaining.length
    super(token, remaining, liquid, parser)
    const chars = (remaining[0]?.begin ?? token.input.length) - token.begin
    this.#roundWork = chars + TEMPLATE_LIMITS.TAG_WORK * (before - remaining.length)
  }

  override *render(context: Context, emitter: Emitter): ReturnType<ForTag['render']> {
    const collection: unknown = yield evalToken(this.collection as Parameters<typeof evalToken>[0], context)
    context.memoryLimit.use(roundsOf(collection) * this.#roundWork)
    return yield* super.render(context, emitter)
  }
}

function roundsOf(collection: unknown): number {
  if (Array.isArray(collection)) return collection.length
  return typeof collection === 'object' && collection !== null ? Object.keys(collection).length : 1
}
