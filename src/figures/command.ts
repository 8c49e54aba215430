import { requireCompany } from '../companies/command.ts'
import { type Kpi, type Kpis, readStats, type Stats } from '../companies/statistics.ts'
import { command, option } from '../console/command.ts'
import { momentOf, rangeOf } from '../console/words.ts'
import { readClock } from '../outbox/dead-letters.ts'

const options = {
  since: option.parsed(
    'TIME|2h|7d',
    'accepted since that time, or less than that long ago (7d), from the beginning of that hour',
    momentOf,
  ),
  until: option.parsed('TIME|2h|7d', 'accepted before that time, or longer ago than that (now)', momentOf),
  company: option.text('ID|NAME', 'of this company'),
}

export const statsCommand = command({ name: 'stats', options }, action =>
  action(
    {
      form: '[--since TIME|7d] [--until TIME|1d] [--company ID|NAME]',
      what: 'of the e-mails accepted in that range of hours',
      options: ['since', 'until', 'company'],
      opens: 'reading',
    },
    async ({ options: { since = null, until = null, company } }, { db }) => {
      const range = rangeOf(since, until, Date.parse(await readClock(db.pool)))
      const companyId = company === undefined ? null : (await requireCompany(db, company)).companyId
      const stats = await readStats(db.pool, { ...range, companyId })
      return { json: stats, lines: linesOf(stats) }
    },
  ),
)

const NAMES: Record<keyof Kpis, string> = {
  finalDeliveryRate: 'final delivery rate',
  meanSecondsToDelivery: 'mean time to delivery',
  recoveryRate: 'recovery after a failed first attempt',
  finalFailureRate: 'finally failed',
}

function linesOf({ since, until, countedUntil, emails, kpis }: Stats): string[] {
  const width = Math.max(...Object.values(NAMES).map(name => name.length))
  const names = Object.keys(NAMES) as (keyof Kpis)[]
  return [
    `${since} to ${until}, counted until ${countedUntil}`,
    `${emails.accepted} accepted, ${emails.delivered} delivered, ${emails.failed} failed`,
    ...names.map(
      name => `${NAMES[name].padEnd(width)}  ${amountOf(name, kpis[name]).padStart(10)}  ${verdictOf(kpis[name])}`,
    ),
  ]
}

function amountOf(name: keyof Kpis, { value }: Kpi): string {
  if (value === null) return '-'
  return name === 'meanSecondsToDelivery' ? `${value.toFixed(1)} s` : `${(value * 100).toFixed(2)} %`
}

const verdictOf = ({ target, met }: Kpi) =>
  met === null ? `target ${target}` : `target ${target}: ${met ? 'met' : 'NOT met'}`
