import { writeAudit } from '../audit/audit.ts'
import { requireCompany } from '../companies/command.ts'
import { companyNames } from '../companies/companies.ts'
import {
  type Answer,
  CommandFailed,
  command,
  notFound,
  type Opened,
  operator,
  option,
  required,
  UsageError,
  word,
} from '../console/command.ts'
import { didYouMean } from '../console/nearest.ts'
import { momentOf, rangeOf } from '../console/words.ts'
import { readClock } from '../outbox/dead-letters.ts'
import type { EmailSummary } from '../outbox/email-view.ts'
import { type Settlement, settleAttempts } from '../outbox/settle.ts'
import { EMAIL_STATUSES } from '../outbox/states.ts'
import { findUnknownSend, type OpenUnknownSend } from '../outbox/unknown-sends.ts'
import { inTransaction, type Queryable } from '../platform/postgres/query.ts'
import { addressKey, parseBareAddress } from '../platform/text/addresses.ts'
import { hashEmail } from '../platform/text/hashing.ts'
import { isUuid } from '../platform/text/uuid.ts'
import { readInUse } from '../settings/processes.ts'
import { cancelAudited } from './change.ts'
import { findEmail, findLocation, listEmails, listEvents, listResends } from './emails.ts'
import { explainEmail } from './explain-english.ts'

const PAGE = { default: 50, max: 1_000 }
const MESSAGE_ID_MAX = 500

const options = {
  company: option.text('ID|NAME', 'list: of this company'),
  status: option.parsed('STATUS', 'list: PENDING, SENT, DELIVERED and so on', (given, flag) => {
    const status = EMAIL_STATUSES.find(known => known === given.toUpperCase())
    if (status) return status
    throw new UsageError(`${flag} must be ${EMAIL_STATUSES.join(', ')}${didYouMean(given, EMAIL_STATUSES)}`)
  }),
  recipient: option.parsed('ADDRESS', 'list: to, cc or bcc this address', (given, flag) => {
    const parsed = parseBareAddress(given)
    if (!parsed.ok) throw new UsageError(`${flag}: ${parsed.problem.message}`)
    const address = parsed.value.normalised
    return { key: addressKey(hashEmail(address)), address }
  }),
  tag: option.text('TAG', 'list: with this tag'),
  template: option.text('TYPE', 'list: of this template'),
  since: option.parsed('TIME|2h|7d', 'list: accepted since that time, or less than that long ago', momentOf),
  until: option.parsed('TIME|2h|7d', 'list: accepted before that time, or longer ago than that', momentOf),
  test: option.flag('list: e-mails of test keys instead of live ones'),
  limit: option.wholeNumber('N', `list: page size, up to ${PAGE.max} (${PAGE.default})`, { from: 1, to: PAGE.max }),
  after: option.parsed('CURSOR', 'list: the next page', (given, flag) => {
    if (isUuid(given)) return given
    throw new UsageError(`${flag} must be the cursor at the end of the previous page`)
  }),
  sent: option.parsed('MESSAGE_ID', 'resolve: the provider has it, under this id; it becomes SENT', given => {
    if (given.length > MESSAGE_ID_MAX) throw new UsageError(`MESSAGE_ID has more than ${MESSAGE_ID_MAX} characters`)
    return required(given.trim(), 'MESSAGE_ID')
  }),
  'not-sent': option.flag('resolve: the provider does not have it; it is sent again'),
}

const OUTBOX_ID = word('ID', given => {
  if (isUuid(given)) return given
  throw new UsageError('ID must be the outboxId of an e-mail, a UUID')
})

export const emailCommand = command({ name: 'email', options }, action => ({
  list: action(
    {
      form: '[OPTIONS]',
      what: 'newest first',
      options: ['status', 'recipient', 'since', 'until', 'limit', 'after', 'company', 'tag', 'template', 'test'],
      opens: 'reading',
    },
    async ({ options }, { db }) => {
      const { status, recipient = null, tag, template, test, limit = PAGE.default, after: before = null } = options
      const range = rangeOf(options.since ?? null, options.until ?? null, Date.parse(await readClock(db.pool)))
      const company = options.company === undefined ? null : await requireCompany(db, options.company)
      const rows = await listEmails(db.pool, {
        owner: { companyId: company?.companyId ?? null, test },
        ...{ status, recipient, tag, template, before },
        createdAfter: range.since,
        createdBefore: range.until,
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
    },
  ),

  show: action(
    { words: [OUTBOX_ID], what: 'an e-mail and its events', opens: 'reading' },
    async ({ words: [outboxId] }, { db }) => {
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
    },
  ),

  explain: action(
    { words: [OUTBOX_ID], what: 'where it is, why, and what happens next', opens: 'reading' },
    async ({ words: [outboxId] }, { db, config }) => {
      const email = await findEmail(db.pool, outboxId, null)
      if (!email) return describeDeleted(db.pool, outboxId)
      const { providers } = await readInUse(db.pool, config)
      const explanation = explainEmail(email, await findLocation(db.pool, outboxId, providers))
      return {
        json: explanation,
        lines: [explanation.summary, ...(explanation.next ? [`Next: ${explanation.next}`] : [])],
      }
    },
  ),

  cancel: action(
    { words: [OUTBOX_ID], what: 'cancel an e-mail that has not started', opens: 'writing' },
    async ({ words: [outboxId] }, { db }) => {
      const email = await findEmail(db.pool, outboxId, null)
      if (!email) throw noEmail(outboxId)
      const outcome = await cancelAudited(db, email, { performedBy: operator(), by: 'command line' })
      if (outcome === 'not-found') throw noEmail(outboxId)
      if (outcome === 'locked')
        throw new CommandFailed(
          'Another transaction is changing the e-mail; try again, or see what doctor says about locks.',
          'EMAIL_LOCKED',
        )
      if (outcome === 'too-late' && email.status === 'CANCELLED')
        throw new CommandFailed('The e-mail is already cancelled.', 'ALREADY_STARTED')
      if (outcome === 'too-late')
        throw new CommandFailed('Too late: the e-mail has been started or has ended.', 'ALREADY_STARTED')
      return { json: { outboxId, status: 'CANCELLED' }, lines: [`Cancelled ${outboxId}`] }
    },
  ),

  resend: action(
    {
      words: [OUTBOX_ID],
      what: 'send an e-mail that has ended once more, as a new one; all checks are made again',
      opens: 'writing',
    },
    async ({ words: [outboxId] }, opened) => {
      // Imported here, as in send.ts: the accept rules take a quarter of the start-up time of any command.
      const { sendAgainByOperator } = await import('./command-send-again.ts')
      return sendAgainByOperator(opened, outboxId)
    },
  ),

  resolve: action(
    {
      words: [OUTBOX_ID],
      form: '--sent MESSAGE_ID | --not-sent',
      what: 'say what became of an e-mail of unknown outcome, as the provider shows it',
      options: ['sent', 'not-sent'],
      opens: 'writing',
      check: ({ options: { sent, 'not-sent': notSent } }) => {
        if ((sent === undefined) !== notSent) throw new UsageError('give --sent MESSAGE_ID or --not-sent')
      },
    },
    ({ words: [outboxId], options: { sent } }, opened) =>
      resolveUnknown(opened, outboxId, sent === undefined ? 'not-sent' : { messageId: sent }),
  ),
}))

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

const noEmail = (outboxId: string) => notFound(`There is no e-mail ${outboxId}.`)

/** What somebody has seen at the provider about an e-mail of unknown outcome. */
type Finding = { messageId: string } | 'not-sent'

async function resolveUnknown({ db }: Opened, outboxId: string, finding: Finding): Promise<Answer> {
  const send = await findUnknownSend(db.pool, outboxId)
  if (!send && !(await findEmail(db.pool, outboxId, null))) throw noEmail(outboxId)
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

const SENT = ['SENT', 'DELIVERED', 'BOUNCE', 'COMPLAINT']

/** What is left of an e-mail whose row somebody has deleted. The gateway deletes whole days only, with their events. */
async function describeDeleted(db: Queryable, outboxId: string): Promise<Answer> {
  const events = await listEvents(db, outboxId)
  if (events.length === 0) throw noEmail(outboxId)
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
