import { LEDGER_FAULTS, type Ledger } from '../contracts/ledger.ts'
import { countLedger } from '../db/ledger/count.ts'
import { readLedger } from '../db/ledger/read.ts'
import { readClock } from '../db/outbox/dead-letters.ts'
import { type Answer, type Command, type Input, reading, text, UsageError } from './command.ts'
import { requireCompany } from './company.ts'
import { acknowledge } from './ledger-acknowledge.ts'
import { dayOf, momentOf, rangeOf } from './moment.ts'
import { counted } from './plural.ts'

/** How long a call counts what a running gateway has not counted yet. */
const COUNT_MS = 5_000

export const ledgerCommand: Command = {
  usage: [
    [
      'ledger [--day DAY | --since TIME|7d] [--company ID|NAME]',
      'accepted = ended + waiting + unknown, per company and day',
    ],
    [
      'ledger acknowledge [OUTBOX_ID | --day DAY] --reason TEXT [--by NAME]',
      'say why a loss that is known stays: of this e-mail, of this day, or all that is found now',
    ],
  ],
  notes: [
    'Exits with 1 when something does not agree and is not acknowledged. What is acknowledged stays in the list, and is no longer counted in ledger_imbalance. Days are those of UTC.',
  ],
  words: 2,
  options: {
    day: { type: 'string', value: 'DAY', help: 'this day only, such as 2026-11-15' },
    since: { type: 'string', value: 'TIME|2h|7d', help: 'from the day of that time on (7d)' },
    company: { type: 'string', value: 'ID|NAME', help: 'of this company' },
    reason: { type: 'string', value: 'TEXT', help: 'acknowledge: why; written to the audit log' },
    by: { type: 'string', value: 'NAME', help: 'acknowledge: who (cli: and the name of the user)' },
  },
  run({ words: [action, outboxId], values }) {
    if (action !== undefined && action !== 'acknowledge')
      throw new UsageError(`ledger can be followed by acknowledge, not by "${action}"`)
    const foreign = action === undefined ? ['reason', 'by'] : ['since', 'company']
    const unused = foreign.find(name => values[name] !== undefined)
    if (unused) throw new UsageError(`--${unused} cannot be used here`)
    return action === undefined ? show(values) : acknowledge(values, outboxId)
  },
}

function show(values: Input['values']): Promise<Answer> {
  const [day, since] = [dayOf(text(values, 'day'), '--day'), text(values, 'since')]
  if (day !== undefined && since !== undefined) throw new UsageError('--day and --since cannot both be given')
  const moment = momentOf(day ?? since, day === undefined ? '--since' : '--day')
  return reading(async ({ db }) => {
    const name = text(values, 'company')
    const companyId = name === undefined ? null : (await requireCompany(db, name)).companyId
    const nowMs = Date.parse(await readClock(db.pool))
    const from = rangeOf(moment, null, nowMs).since?.slice(0, 10) ?? null
    await countLedger(db.pool, { maxMs: COUNT_MS, since: from, urgent: true })
    const ledger = await readLedger(db.pool, { since: from, until: day ?? null, companyId })
    return { json: ledger, lines: linesOf(ledger), exitCode: ledger.balanced ? 0 : 1 }
  })()
}

const COLUMNS = ['accepted', 'ended', 'waiting', 'unknown', 'imbalance'] as const

export function linesOf(ledger: Ledger): string[] {
  const { since, until, days, faults, balanced, acknowledgedEmails, uncountedHours, countedAt } = ledger
  const head = ['day', 'company', ...COLUMNS]
  const rows = days.map(one => [
    one.day,
    one.companyName ?? one.companyId,
    ...COLUMNS.map(column => String(one[column])),
  ])
  const known = acknowledgedEmails > 0 ? `, ${acknowledgedEmails} acknowledged` : ''
  const isEmpty = days.length === 0 && balanced && uncountedHours === 0 && acknowledgedEmails === 0
  const verdict = isEmpty ? 'nothing was accepted' : balanced ? 'balanced' : 'NOT balanced'
  return [
    `${since} to ${until}: ${verdict}${known}`,
    ...(countedAt === null ? [] : [`counted at ${countedAt}: what came later may be missing`]),
    ...(uncountedHours > 0 ? [uncountedLine(uncountedHours)] : []),
    ...(rows.length > 0 ? table([head, ...rows]) : []),
    ...faults.map(faultLine),
  ]
}

const uncountedLine = (hours: number) =>
  `${counted(hours, 'hour is', 'hours are')} not counted yet: ask again, or wait for the gateway`

function faultLine(fault: Ledger['faults'][number]): string {
  const { day, companyName, companyId, outboxId, emails, kind, acknowledged } = fault
  const company = companyName ?? companyId ?? '(company not known)'
  const known = acknowledged
    ? ` (acknowledged by ${acknowledged.by} at ${acknowledged.at}: ${acknowledged.reason})`
    : ''
  return `${day}  ${company}  ${outboxId ?? counted(emails, 'e-mail')}: ${LEDGER_FAULTS[kind]}${known}`
}

/** Names to the left, numbers to the right. */
function table(rows: string[][]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
  return rows.map(row =>
    row.map((cell, column) => (column < 2 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!))).join('  '),
  )
}
