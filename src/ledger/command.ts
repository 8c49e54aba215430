import { justificationSchema } from '../audit/justification.ts'
import { requireCompany } from '../companies/command.ts'
import { type Command, command, notFound, operator, option, UsageError } from '../console/command.ts'
import { counted, dayOf, momentOf, rangeOf } from '../console/words.ts'
import { readClock } from '../outbox/dead-letters.ts'
import { maskSensitive } from '../platform/text/masking.ts'
import { countLedger } from './count.ts'
import { acknowledgeLosses, type Ledger, type LedgerDay, readLedger } from './ledger.ts'

/** How long a call counts what a running gateway has not counted yet. */
const COUNT_MS = 5_000

const day = option.parsed('DAY', 'this day only, such as 2026-11-15', dayOf)

const showOptions = {
  day,
  since: option.parsed('TIME|2h|7d', 'from the day of that time on (7d)', momentOf),
  company: option.text('ID|NAME', 'of this company'),
}
const show = command({ name: 'ledger', options: showOptions }, action =>
  action(
    {
      form: '[--day DAY | --since TIME|7d] [--company ID|NAME]',
      what: 'accepted = ended + waiting + unknown, per company and day',
      options: ['day', 'since', 'company'],
      opens: 'reading',
      check: ({ options: { day, since } }) => {
        if (day !== undefined && since !== undefined) throw new UsageError('--day and --since cannot both be given')
      },
    },
    async ({ options: { day, since = null, company } }, { db }) => {
      const companyId = company === undefined ? null : (await requireCompany(db, company)).companyId
      const begin = day === undefined ? since : momentOf(day, '--day')
      const from = rangeOf(begin, null, Date.parse(await readClock(db.pool))).since?.slice(0, 10) ?? null
      await countLedger(db.pool, { maxMs: COUNT_MS, since: from, urgent: true })
      const ledger = await readLedger(db.pool, { since: from, until: day ?? null, companyId })
      return { json: ledger, lines: linesOf(ledger), exitCode: ledger.balanced ? 0 : 1 }
    },
  ),
)

const acknowledgeOptions = {
  day,
  reason: option.required(
    option.parsed('TEXT', 'acknowledge: why; written to the audit log', (given, flag) => {
      const reason = justificationSchema.safeParse(given)
      if (reason.success) return reason.data
      throw new UsageError(`${flag} ${reason.error.issues[0]!.message}`)
    }),
  ),
  by: option.parsed('NAME', 'acknowledge: who (cli: and the name of the user)', (given, flag) => {
    if (/^[^\p{Cc}]{1,100}$/u.test(given)) return given
    throw new UsageError(`${flag} must have 1 to 100 printable characters`)
  }),
}
/** For what is known and cannot be mended: it stays in the list with this reason, and ends the alert. */
const acknowledge = command({ name: 'ledger acknowledge', options: acknowledgeOptions }, action =>
  action(
    {
      form: '[--day DAY] --reason TEXT [--by NAME]',
      what: 'say why a loss that is known stays: of this day, or all that is found now',
      options: ['day', 'reason', 'by'],
      opens: 'writing',
    },
    async ({ options: { day = null, reason, by = operator() } }, { db }) => {
      const acknowledged = await acknowledgeLosses(db.pool, { day, by, reason: maskSensitive(reason) })
      if (acknowledged.length === 0)
        throw notFound('There is nothing to acknowledge. List what there is with: email-gateway ledger')
      const lines = acknowledged.map(loss =>
        [`${loss.day}  ${counted(loss.emails, 'e-mail')}`, ...loss.missing].join('  '),
      )
      return { json: { acknowledged }, lines: ['Acknowledged', ...lines] }
    },
  ),
)

/** Without an action it shows. */
export const ledgerCommand: Command = {
  usage: [...show.usage, ...acknowledge.usage],
  notes: [
    'Exits with 1 when an e-mail is missing and not acknowledged. What is acknowledged stays in the list, and is no longer counted in ledger_imbalance. Days are those of UTC.',
  ],
  words: 1,
  options: { ...show.options, ...acknowledge.options },
  run({ words: [action], ...input }) {
    if (action !== undefined && action !== 'acknowledge')
      throw new UsageError(`ledger can be followed by acknowledge, not by "${action}"`)
    return (action === undefined ? show : acknowledge).run({ ...input, words: [] })
  },
}

const COLUMNS = ['accepted', 'ended', 'waiting', 'unknown', 'imbalance'] as const

export function linesOf(ledger: Ledger): string[] {
  const { since, until, days, balanced, acknowledgedEmails, uncountedDays, countedAt } = ledger
  const head = ['day', 'company', ...COLUMNS]
  const rows = days.map(row => [row.day, nameOf(row), ...COLUMNS.map(column => String(row[column]))])
  const known = acknowledgedEmails > 0 ? `, ${acknowledgedEmails} acknowledged` : ''
  const isEmpty = days.length === 0 && uncountedDays === 0
  const verdict = isEmpty ? 'nothing was accepted' : balanced ? 'balanced' : 'NOT balanced'
  return [
    `${since} to ${until}: ${verdict}${known}`,
    ...(countedAt === null ? [] : [`counted at ${countedAt}: what came later may be missing`]),
    ...(uncountedDays > 0
      ? [`${counted(uncountedDays, 'day is', 'days are')} not counted yet: ask again, or wait for the gateway`]
      : []),
    ...(rows.length > 0 ? table([head, ...rows]) : []),
    ...days.filter(row => row.imbalance > 0).flatMap(lossLines),
  ]
}

const nameOf = ({ companyName, companyId }: LedgerDay) => companyName ?? companyId

function lossLines(row: LedgerDay): string[] {
  const { day, imbalance, imbalancedSince, missing, acknowledged } = row
  const unnamed = imbalance - missing.length
  const known = acknowledged
    ? ` (${acknowledged.emails} acknowledged by ${acknowledged.by} at ${acknowledged.at}: ${acknowledged.reason})`
    : ''
  return [
    `${day}  ${nameOf(row)}  ${counted(imbalance, 'e-mail')} missing since ${imbalancedSince}${known}`,
    ...missing.map(id => `  ${id}  its row in email_outbox is gone, its events are left`),
    ...(unnamed > 0
      ? [`  ${counted(unnamed, 'e-mail')} more: not named by the event log, or not among the first`]
      : []),
  ]
}

/** Names to the left, numbers to the right. */
function table(rows: string[][]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
  return rows.map(row =>
    row.map((cell, column) => (column < 2 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!))).join('  '),
  )
}
