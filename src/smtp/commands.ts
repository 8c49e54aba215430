import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server'
import { callerOf } from '../accepting/caller.ts'
import { type MailAddress, parseAddress, parseBareAddress } from '../contracts/addresses.ts'
import { fieldProblems, REPORT_INPUT } from '../contracts/field-problems.ts'
import { type FieldProblem, summarise } from '../contracts/refusal.ts'
import { SEND_LIMITS, type SendBody, sendBodySchema } from '../contracts/send-body.ts'
import type { Draw } from '../contracts/token-bucket.ts'
import type { KnownKey } from '../db/companies/api-keys.ts'
import type { TokenRequest } from '../db/companies/rate-buckets.ts'
import type { MemberResult } from '../db/outbox/draft.ts'
import { type AcceptDeps, acceptEmails } from '../pipeline/accept.ts'
import { isSampled } from '../telemetry/email-log.ts'
import type { RootAttributes, Tracing } from '../telemetry/tracing.ts'
import type { SmtpLimits } from './limits.ts'
import { keyOf, type VerifyKey } from './login.ts'
import { type MessageBody, messageBody } from './message-body.ts'
import { type ReadDeps, readMessage } from './read-message.ts'
import { Refused } from './refused.ts'
import { refusedBy, resultOf, toRefused } from './replies.ts'

export type SmtpDeps = {
  verify: VerifyKey
  tokens: { add(request: TokenRequest): Promise<Draw> }
  accept: AcceptDeps
  onMessage: (outcome: 'accepted' | 'refused') => void
  tracing: Tracing
  /** The share of accepted messages that is logged. */
  logSample?: number
  log: Logger
}

export type Session = SMTPServerSession

/** MAIL FROM: who sends, and whether the company may send one more now. The envelope sender is not used: the header From counts. */
export async function startMessage(session: Session, { verify, tokens }: SmtpDeps): Promise<void> {
  const { companyId, ratePerSecond } = await keyOf(session.user, verify)
  if (ratePerSecond === null) return
  const draw = await tokens.add({ companyId, ratePerSecond, amount: 1 })
  if (draw.granted) return
  const text = `This company may send ${ratePerSecond} e-mails a second; try again in ${draw.retryAfterSeconds} s`
  throw new Refused(451, '4.7.1', text)
}

/** RCPT TO. */
export function addRecipient({ address }: SMTPServerAddress, { envelope }: Session, limits: SmtpLimits): void {
  if (envelope.rcptTo.length >= limits.recipients)
    throw new Refused(452, '4.5.3', `A message may have at most ${limits.recipients} recipients`)
  const parsed = parseBareAddress(address)
  if (!parsed.ok) throw new Refused(553, '5.1.3', parsed.problem.message)
}

/** DATA: returns the text of the 250, after the commit. */
export async function receiveMessage(
  stream: SMTPServerDataStream,
  session: Session,
  deps: SmtpDeps,
  reading: ReadDeps,
): Promise<string> {
  const requestId = randomUUID()
  const span = deps.tracing.begin('SMTP message')
  const startedMs = performance.now()
  const durationMs = () => Math.round((performance.now() - startedMs) * 10) / 10
  const { envelope } = session
  let companyId: string | undefined
  try {
    const key = await keyOf(session.user, deps.verify)
    companyId = key.companyId
    const { outboxId, suppressed } = await readAndAccept(
      stream,
      envelope,
      key,
      { requestId, traceparent: span?.traceparent ?? null },
      deps,
      reading,
    )
    const fields = { requestId, companyId, outboxId, bytes: stream.byteLength, durationMs: durationMs() }
    if (isSampled(requestId, deps.logSample ?? 1)) deps.log.info(fields, 'SMTP message accepted')
    deps.onMessage('accepted')
    span?.end({ requestId, companyId, reply: 250 } satisfies RootAttributes<'SMTP message'>, false)
    const leftOut = suppressed.length > 0 ? `; ${suppressed.length} suppressed left out` : ''
    return `2.0.0 queued as ${outboxId}${leftOut}`
  } catch (error) {
    const refused = toRefused(error, deps.log)
    const [enhancedCode] = refused.message.split(' ')
    const fields = { requestId, companyId, reply: refused.responseCode, enhancedCode, durationMs: durationMs() }
    deps.log.info(fields, 'SMTP message refused')
    deps.onMessage('refused')
    const attributes: RootAttributes<'SMTP message'> = { requestId, companyId, reply: refused.responseCode }
    span?.end(attributes, refused.responseCode < 500)
    throw refused
  }
}

async function readAndAccept(
  stream: SMTPServerDataStream,
  envelope: Session['envelope'],
  key: KnownKey,
  origin: { requestId: string; traceparent: string | null },
  { accept }: SmtpDeps,
  reading: ReadDeps,
) {
  const { message, release } = await readMessage(stream, key.companyId, announcedBytes(envelope), reading)
  try {
    return await acceptMessage(message, recipientsOf(envelope), key, origin, accept)
  } finally {
    release()
  }
}

/** SIZE of MAIL FROM, an estimate of the client. */
function announcedBytes({ mailFrom }: Session['envelope']): number | null {
  const args = mailFrom ? mailFrom.args : false
  const size = args ? Number((args as { SIZE?: string }).SIZE) : Number.NaN
  return Number.isSafeInteger(size) && size > 0 ? size : null
}

/** addRecipient has refused all others. */
function recipientsOf({ rcptTo }: Session['envelope']): MailAddress[] {
  return rcptTo.flatMap(({ address }) => {
    const parsed = parseBareAddress(address)
    return parsed.ok ? [parsed.value] : []
  })
}

/** Once this has answered, the e-mail is committed. */
async function acceptMessage(
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
