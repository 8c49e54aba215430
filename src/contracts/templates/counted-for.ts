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

/** A loop counts its body once for each round, before it begins. So nested loops end after a bounded number of steps. */
export class CountedFor extends ForTag {
  readonly #bodyChars: number

  constructor(token: TagToken, remaining: TopLevelToken[], liquid: Liquid, parser: Parser) {
    super(token, remaining, liquid, parser)
    this.#bodyChars = (remaining[0]?.begin ?? token.input.length) - token.begin
  }

  override *render(context: Context, emitter: Emitter): ReturnType<ForTag['render']> {
    const collection: unknown = yield evalToken(this.collection as Parameters<typeof evalToken>[0], context)
    context.memoryLimit.use(roundsOf(collection) * this.#bodyChars)
    return yield* super.render(context, emitter)
  }
}

function roundsOf(collection: unknown): number {
  if (Array.isArray(collection)) return collection.length
  return typeof collection === 'object' && collection !== null ? Object.keys(collection).length : 1
}
