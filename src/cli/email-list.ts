import { addressKey } from '../contracts/address-key.ts'
import { parseBareAddress } from '../contracts/addresses.ts'
import type { EmailSummary } from '../contracts/email-view.ts'
import { hashEmail } from '../contracts/hashing.ts'
import { EMAIL_STATUSES } from '../contracts/states.ts'
import { isUuid } from '../contracts/uuid.ts'
import { companyNames } from '../db/companies/companies.ts'
import { readClock } from '../db/outbox/dead-letters.ts'
import { type EmailFilter, listEmails } from '../db/outbox/emails.ts'
import { type Answer, type Input, type Options, reading, text, UsageError } from './command.ts'
import { requireCompany } from './company.ts'
import { limitOf } from './dlq-filter.ts'
import { momentOf, rangeOf } from './moment.ts'
import { didYouMean } from './nearest.ts'

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
