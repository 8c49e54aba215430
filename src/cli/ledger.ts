import { LEDGER_FAULTS, type Ledger } from '../contracts/ledger.ts'
import { countLedger } from '../db/ledger/count.ts'
import { readLedger } from '../db/ledger/read.ts'
import { readClock } from '../db/outbox/dead-letters.ts'
import { type Command, reading, text, UsageError } from './command.ts'
import { requireCompany } from './company.ts'
import { instantOf, momentOf } from './moment.ts'

/** How long a call counts what a running gateway has not counted yet. */
const COUNT_MS = 5_000

export const ledgerCommand: Command = {
  usage: [
    [
      'ledger [--day DAY | --since TIME|7d] [--company ID|NAME]',
      'accepted = ended + waiting + unknown, per company and day',
    ],
  ],
  notes: ['Exits with 1 when something does not agree. Days are those of UTC.'],
  words: 0,
  options: {
    day: { type: 'string', value: 'DAY', help: 'this day only, such as 2026-11-15' },
    since: { type: 'string', value: 'TIME|2h|7d', help: 'from the day of that time on (7d)' },
    company: { type: 'string', value: 'ID|NAME', help: 'of this company' },
  },
  run({ values }) {
    const [day, since] = [text(values, 'day'), text(values, 'since')]
    if (day !== undefined && since !== undefined) throw new UsageError('--day and --since cannot both be given')
    if (day !== undefined && !/^\d{4}-\d\d-\d\d$/.test(day))
      throw new UsageError('--day must be a day such as 2026-11-15')
    const moment = momentOf(day ?? since, day === undefined ? '--since' : '--day')
    return reading(async ({ db }) => {
      const name = text(values, 'company')
      const companyId = name === undefined ? null : (await requireCompany(db, name)).companyId
      const from = instantOf(moment, Date.parse(await readClock(db.pool)))?.slice(0, 10) ?? null
      await countLedger(db.pool, { maxMs: COUNT_MS, since: from, urgent: true })
      const ledger = await readLedger(db.pool, { since: from, until: day ?? null, companyId })
      return { json: ledger, lines: linesOf(ledger), exitCode: ledger.balanced ? 0 : 1 }
    })()
  },
}

const COLUMNS = ['accepted', 'ended', 'waiting', 'unknown', 'imbalance'] as const

function linesOf({ since, until, days, faults, balanced, uncountedHours }: Ledger): string[] {
  const head = ['day', 'company', ...COLUMNS]
  const rows = days.map(one => [
    one.day,
    one.companyName ?? one.companyId,
    ...COLUMNS.map(column => String(one[column])),
  ])
  return [
    `${since} to ${until}: ${balanced ? 'balanced' : 'NOT balanced'}`,
    ...(uncountedHours > 0 ? [`${uncountedHours} hours are not counted yet: ask again, or wait for the gateway`] : []),
    ...(rows.length > 0 ? table([head, ...rows]) : []),
    ...faults.map(
      one =>
        `${one.day}  ${one.companyName ?? one.companyId ?? '(company not known)'}  ${one.outboxId ?? `${one.emails} e-mails`}: ${LEDGER_FAULTS[one.kind]}`,
    ),
  ]
}

/** Names to the left, numbers to the right. */
function table(rows: string[][]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
  return rows.map(row =>
    row.map((cell, column) => (column < 2 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!))).join('  '),
  )
}
