import { writeAudit } from '../audit/audit.ts'
import { requireCompany } from '../companies/command.ts'
import { companyNames } from '../companies/companies.ts'
import {
  type Answer,
  actionOf,
  type Command,
  CommandFailed,
  type Input,
  limitOf,
  notFound,
  type Opened,
  type Options,
  operator,
  reading,
  required,
  text,
  UsageError,
  writing,
} from '../console/command.ts'
import { didYouMean } from '../console/nearest.ts'
import { momentOf, rangeOf } from '../console/words.ts'
import { readClock } from '../outbox/dead-letters.ts'
import type { EmailSummary } from '../outbox/email-view.ts'
import { cancelEmail } from '../outbox/schedule.ts'
import { type Settlement, settleAttempts } from '../outbox/settle.ts'
import { EMAIL_STATUSES } from '../outbox/states.ts'
import { findUnknownSend, type OpenUnknownSend } from '../outbox/unknown-sends.ts'
import { inTransaction, type Queryable } from '../platform/postgres/query.ts'
import { addressKey, parseBareAddress } from '../platform/text/addresses.ts'
import { hashEmail } from '../platform/text/hashing.ts'
import { isUuid } from '../platform/text/uuid.ts'
import { readInUse } from '../settings/processes.ts'
import { type EmailFilter, findEmail, findLocation, listEmails, listEvents } from './emails.ts'
import { explainEmail } from './explain-english.ts'
import { listResends } from './send-again.ts'

export const LIST_OPTIONS: Options = {
  company: { type: 'string', value: 'ID|NAME', help: 'list: of this company' },
  status: { type: 'string', value: 'STATUS', help: 'list: PENDING, SENT, DELIVERED and so on' },
  recipient: { type: 'string', value: 'ADDRESS', help: 'list: to, cc or bcc this address' },
  tag: { type: 'string', value: 'TAG', help: 'list: with this tag' },
  template: { type: 'string', value: 'TYPE', help: 'list: of this template' },
  since: { type: 'string', value: 'TIME|2h|7d', help: 'list: accepted since that time, or less than that long ago' },
  until: { type: 'string', value: 'TIME|2h|7d', help: 'list: accepted before that time, or longer ago than that' },
  test: { type: 'boolean', help: 'list: e-mails of test keys instead of live ones' },
  limit: { type: 'string', value: 'N', help: 'list: page size, up to 1000 (50)' },
  after: { type: 'string', value: 'CURSOR', help: 'list: the next page' },
}

const PAGE = { default: 50, max: 1_000 }

/** Checks the options before the database is opened. */
export function listAction(values: Input['values']): () => Promise<Answer> {
  const status = statusOf(text(values, 'status'))
  const address = addressOf(text(values, 'recipient'))
  const [since, until] = [momentOf(text(values, 'since'), '--since'), momentOf(text(values, 'until'), '--until')]
  const limit = limitOf(values, PAGE.max) ?? PAGE.default
  const before = cursorOf(text(values, 'after'))
  return reading(async ({ db }) => {
    const company = text(values, 'company')
    const range = rangeOf(since, until, Date.parse(await readClock(db.pool)))
    const rows = await listEmails(db.pool, {
      owner: {
        companyId: company === undefined ? null : (await requireCompany(db, company)).companyId,
        test: values.test === true,
      },
      status,
      recipient: address === null ? null : recipientFilter(address),
      tag: text(values, 'tag') ?? null,
      externalId: null,
      template: text(values, 'template') ?? null,
      createdAfter: range.since,
      createdBefore: range.until,
      before,
      // One row more than the page shows whether there is another page.
      limit: limit + 1,
    })
    const page = rows.slice(0, limit)
    const names = await companyNames(
      db.pool,
      page.map(email => email.companyId),
    )
    const data = page.map(email => ({ ...email, companyName: names.get(email.companyId) ?? email.companyId }))
    const cursor = rows.length > limit ? page.at(-1)!.outboxId : null
    return { json: { data, cursor }, lines: linesOf(data, cursor) }
  })
}

type Listed = EmailSummary & { companyName: string }

function linesOf(data: Listed[], cursor: string | null): string[] {
  if (data.length === 0) return ['No e-mails.']
  return [...data.map(lineOf), ...(cursor ? [`--after ${cursor}`] : [])]
}

function lineOf({ createdAt, outboxId, companyName, status, to, subject, templateType, lastError }: Listed): string {
  return [
    ...[createdAt, outboxId, companyName, status],
    ...(lastError ? [lastError.code] : []),
    ...[to.join(', '), subject ?? templateType ?? ''],
  ].join('  ')
}

function statusOf(given: string | undefined): string | null {
  if (given === undefined) return null
  const status = EMAIL_STATUSES.find(one => one === given.toUpperCase())
  if (!status) throw new UsageError(`--status must be ${EMAIL_STATUSES.join(', ')}${didYouMean(given, EMAIL_STATUSES)}`)
  return status
}

function addressOf(given: string | undefined): string | null {
  if (given === undefined) return null
  const parsed = parseBareAddress(given)
  if (!parsed.ok) throw new UsageError(`--recipient: ${parsed.problem.message}`)
  return parsed.value.normalised
}

function recipientFilter(address: string): EmailFilter['recipient'] {
  return { key: addressKey(hashEmail(address)), address }
}

function cursorOf(given: string | undefined): string | null {
  if (given === undefined) return null
  if (!isUuid(given)) throw new UsageError('--after must be the cursor at the end of the previous page')
  return given
}

/** What somebody has seen at the provider about an e-mail of unknown outcome. */
type Finding = { messageId: string } | 'not-sent'

async function resolveOne({ db }: Opened, outboxId: string, finding: Finding): Promise<Answer> {
  const send = await findUnknownSend(db.pool, outboxId)
  if (!send && !(await findEmail(db.pool, outboxId, null))) throw notFound(`There is no e-mail ${outboxId}.`)
  if (!send) throw new CommandFailed(`The outcome of ${outboxId} is not unknown: see email-gateway email explain.`)
  const settlement = settlementOf(send, finding)
  const isResolved = await inTransaction(db.pool, async tx => {
    const [written] = await settleAttempts(tx, [settlement])
    if (written)
      await writeAudit(tx, {
        performedBy: operator(),
        action: 'RESOLVED',
        subjectType: 'email',
        subjectId: outboxId,
        companyId: send.companyId,
        before: { status: 'UNKNOWN' },
        after: { status: settlement.status },
      })
    return written
  })
  if (!isResolved) throw new CommandFailed('Its outcome has just become known: see email-gateway email explain.')
  const what = finding === 'not-sent' ? `${outboxId} is sent again` : `${outboxId} is SENT`
  return { json: { outboxId, status: settlement.status }, lines: [what] }
}

function settlementOf({ outboxId, attemptId, provider, attempts }: OpenUnknownSend, finding: Finding): Settlement {
  const resolved = { type: 'RESOLVED' as const, metadata: { by: 'operator', attemptId, attempt: attempts } }
  const base: Pick<Settlement, 'outboxId' | 'guard' | 'count'> = {
    outboxId,
    guard: { kind: 'unknown', attemptId },
    count: ['unknown_resolved', 'operator'],
  }
  // An attempt that did not arrive counts as not made, or the last one would leave none for this.
  if (finding === 'not-sent')
    return { ...base, status: 'PENDING', attempts: Math.max(0, attempts - 1), events: [resolved] }
  const { messageId } = finding
  const sent = {
    type: 'SENT' as const,
    metadata: { by: 'operator', messageId, provider, attemptId, attempt: attempts },
  }
  return { ...base, status: 'SENT', attempts, messageId, events: [resolved, sent] }
}

export const emailCommand: Command = {
  usage: [
    ['email list [OPTIONS]', 'newest first'],
    ['email show ID', 'an e-mail and its events'],
    ['email explain ID', 'where it is, why, and what happens next'],
    ['email cancel ID', 'cancel an e-mail that has not started'],
    ['email resend ID', 'send an e-mail that has ended once more, as a new one; all checks are made again'],
    [
      'email resolve ID --sent MESSAGE_ID | --not-sent',
      'say what became of an e-mail of unknown outcome, as the provider shows it',
    ],
  ],
  words: { list: 0, show: 1, explain: 1, cancel: 1, resend: 1, resolve: 1 },
  options: {
    ...LIST_OPTIONS,
    sent: { type: 'string', value: 'MESSAGE_ID', help: 'resolve: the provider has it, under this id; it becomes SENT' },
    'not-sent': { type: 'boolean', help: 'resolve: the provider does not have it; it is sent again' },
  },
  run({ words: [action, given], values }) {
    const act = actionOf<ListAction | IdAction>({ list: listAction, ...ACTIONS }, action, 'email')
    if (act === listAction) {
      refuse(values, name => FINDINGS.includes(name))
      return listAction(values)()
    }
    refuse(values, name => name !== 'json' && !(action === 'resolve' && FINDINGS.includes(name)))
    const outboxId = required(given, 'ID')
    if (!isUuid(outboxId)) throw new UsageError('ID must be the outboxId of an e-mail, a UUID')
    return (act as IdAction)(outboxId, values)
  },
}

const FINDINGS = ['sent', 'not-sent']
const MESSAGE_ID_MAX = 500

function refuse(values: Input['values'], isUnused: (name: string) => boolean): void {
  const unused = Object.keys(values).find(isUnused)
  if (unused) throw new UsageError(`--${unused} cannot be used here`)
}

type ListAction = typeof listAction
type IdAction = (outboxId: string, values: Input['values']) => Promise<Answer>

const ACTIONS: Record<'show' | 'explain' | 'cancel' | 'resend' | 'resolve', IdAction> = {
  show: reading(async ({ db }, outboxId) => {
    const email = await findEmail(db.pool, outboxId, null)
    if (!email) return describeDeleted(db.pool, outboxId)
    const events = await listEvents(db.pool, outboxId)
    const resentAs = await listResends(db.pool, outboxId)
    const companyName = (await companyNames(db.pool, [email.companyId])).get(email.companyId) ?? email.companyId
    const lines = [
      `${email.status}  ${email.subject ?? email.templateType ?? ''}`,
      `company ${companyName} (${email.companyId})`,
      `from ${email.from}  to ${email.to.join(', ')}`,
      ...(email.resendOf ? [`sends ${email.resendOf} again`] : []),
      ...resentAs.map(id => `sent again as ${id}`),
      ...events.map(event => `${event.createdAt}  ${event.type}  ${JSON.stringify(event.metadata)}`),
    ]
    return { json: { ...email, resentAs, companyName, events }, lines }
  }),
  explain: reading(async ({ db, config }, outboxId) => {
    const email = await findEmail(db.pool, outboxId, null)
    if (!email) return describeDeleted(db.pool, outboxId)
    const { providers } = await readInUse(db.pool, config)
    const explanation = explainEmail(email, await findLocation(db.pool, outboxId, providers))
    return {
      json: explanation,
      lines: [explanation.summary, ...(explanation.next ? [`Next: ${explanation.next}`] : [])],
    }
  }),
  cancel: writing(async ({ db }, outboxId) => {
    const { companyId, status, scheduledAt } = await requireEmail(db.pool, outboxId)
    const outcome = await inTransaction(db.pool, async tx => {
      const changed = await cancelEmail(tx, outboxId, null, 'command line')
      if (changed === 'done')
        await writeAudit(tx, {
          performedBy: operator(),
          action: 'CANCELLED',
          subjectType: 'email',
          subjectId: outboxId,
          companyId,
          before: { status, scheduledAt },
        })
      return changed
    })
    if (outcome === 'not-found') throw noEmail(outboxId)
    if (outcome === 'locked')
      throw new CommandFailed(
        'Another transaction is changing the e-mail; try again, or see what doctor says about locks.',
        'EMAIL_LOCKED',
      )
    if (outcome === 'too-late' && status === 'CANCELLED')
      throw new CommandFailed('The e-mail is already cancelled.', 'ALREADY_STARTED')
    if (outcome === 'too-late')
      throw new CommandFailed('Too late: the e-mail has been started or has ended.', 'ALREADY_STARTED')
    return { json: { outboxId, status: 'CANCELLED' }, lines: [`Cancelled ${outboxId}`] }
  }),
  resend: writing(async (opened, outboxId) => {
    // Imported here, as in send.ts: the accept rules take a quarter of the start-up time of any command.
    const { resendOne } = await import('./command-send-again.ts')
    return resendOne(opened, outboxId)
  }),
  resolve: async (outboxId, values) => writing(resolveOne)(outboxId, findingOf(values)),
}

function findingOf(values: Input['values']): Finding {
  const messageId = text(values, 'sent')
  if ((messageId === undefined) === (values['not-sent'] !== true))
    throw new UsageError('give --sent MESSAGE_ID or --not-sent')
  if (messageId === undefined) return 'not-sent'
  if (messageId.length > MESSAGE_ID_MAX) throw new UsageError(`MESSAGE_ID has more than ${MESSAGE_ID_MAX} characters`)
  return { messageId: required(messageId.trim(), 'MESSAGE_ID') }
}

async function requireEmail(db: Opened['db']['pool'], outboxId: string) {
  const email = await findEmail(db, outboxId, null)
  if (!email) throw noEmail(outboxId)
  return email
}

const noEmail = (outboxId: string) => notFound(`There is no e-mail ${outboxId}.`)

const SENT = ['SENT', 'DELIVERED', 'BOUNCE', 'COMPLAINT']

/** What is left of an e-mail whose row somebody has deleted. The gateway deletes whole days only, with their events. */
async function describeDeleted(db: Queryable, outboxId: string): Promise<Answer> {
  const events = await listEvents(db, outboxId)
  if (events.length === 0) throw notFound(`There is no e-mail ${outboxId}.`)
  const summary = deletedRow(events.map(event => event.type))
  return {
    json: { outboxId, status: null, rowDeleted: true, summary, events },
    lines: [
      summary,
      'Next: See what else is missing with email-gateway ledger, and find out who deletes.',
      ...events.map(event => `${event.createdAt}  ${event.type}  ${JSON.stringify(event.metadata)}`),
    ],
    exitCode: 1,
  }
}

function deletedRow(types: string[]): string {
  const deleted = 'Its row in email_outbox was deleted by another program than the gateway; its events are left.'
  if (types.some(type => SENT.includes(type))) return `${deleted} They say that it was sent.`
  return types.includes('SENT_ATTEMPT')
    ? `${deleted} An attempt was begun and no answer is recorded: ask the provider whether it was sent.`
    : `${deleted} No attempt was begun, so it was never sent.`
}
