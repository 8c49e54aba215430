import { callerOf } from '../accepting/caller.ts'
import { type MailAddress, parseAddress } from '../contracts/addresses.ts'
import { fieldProblems, REPORT_INPUT } from '../contracts/field-problems.ts'
import { type FieldProblem, summarise } from '../contracts/refusal.ts'
import { SEND_LIMITS, type SendBody, sendBodySchema } from '../contracts/send-body.ts'
import type { KnownKey } from '../db/companies/api-keys.ts'
import type { MemberResult } from '../db/outbox/draft.ts'
import { type AcceptDeps, acceptEmails } from '../pipeline/accept.ts'
import { type MessageBody, messageBody } from './message-body.ts'
import { refusedBy, resultOf } from './replies.ts'

/** Once this has answered, the e-mail is committed. */
export async function acceptMessage(
  message: Buffer,
  envelope: readonly MailAddress[],
  key: KnownKey,
  origin: { requestId: string; traceparent: string | null },
  accept: AcceptDeps,
): Promise<MemberResult> {
  const { body, idempotencyKey } = messageBody(message, envelope)
  const request = {
    caller: callerOf(key),
    ...origin,
    members: [{ index: 0, body: validated(body) }],
    strict: true,
    // The body, not the message: programs that repeat a message give it a new date and new boundaries.
    idempotency: idempotencyKey === null ? null : { key: idempotencyKey, writtenBody: body },
    refusedBefore: new Map(),
  }
  return resultOf(await acceptEmails(request, accept))
}

/** The send body takes one `to`, a message several. */
function validated({ to, ...others }: MessageBody['body']): SendBody {
  const parsed = sendBodySchema.safeParse({ ...others, to: to[0] }, REPORT_INPUT)
  const addresses = to.map(parseAddress)
  const problems = [
    ...(parsed.success ? [] : fieldProblems(parsed.error.issues).filter(({ path }) => path !== 'to')),
    ...addresses.flatMap((one, index) => (one.ok ? [] : [{ path: `to[${index}]`, ...one.problem }])),
    ...tooMany(to),
  ]
  if (!parsed.success || problems.length > 0) throw refusedBy(summarise(problems))
  return { ...parsed.data, to: addresses.flatMap(one => (one.ok ? [one.value] : [])) }
}

function tooMany({ length }: string[]): FieldProblem[] {
  if (length <= SEND_LIMITS.TO) return []
  return [{ path: 'to', code: 'TOO_LARGE', message: `must have at most ${SEND_LIMITS.TO} items, has ${length}` }]
}
