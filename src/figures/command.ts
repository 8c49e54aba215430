import { requireCompany } from '../companies/command.ts'
import { type Kpi, type Kpis, readStats, type Stats } from '../companies/statistics.ts'
import { type Command, reading, text } from '../console/command.ts'
import { momentOf, rangeOf } from '../console/words.ts'
import { readClock } from '../outbox/dead-letters.ts'

export const statsCommand: Command = {
  usage: [
    ['stats [--since TIME|7d] [--until TIME|1d] [--company ID|NAME]', 'of the e-mails accepted in that range of hours'],
  ],
  words: 0,
  options: {
    since: {
      type: 'string',
      value: 'TIME|2h|7d',
      help: 'accepted since that time, or less than that long ago (7d), from the beginning of that hour',
    },
    until: { type: 'string', value: 'TIME|2h|7d', help: 'accepted before that time, or longer ago than that (now)' },
    company: { type: 'string', value: 'ID|NAME', help: 'of this company' },
  },
  run({ values }) {
    const [since, until] = [momentOf(text(values, 'since'), '--since'), momentOf(text(values, 'until'), '--until')]
    return reading(async ({ db }) => {
      const company = text(values, 'company')
      const nowMs = Date.parse(await readClock(db.pool))
      const stats = await readStats(db.pool, {
        ...rangeOf(since, until, nowMs),
        companyId: company === undefined ? null : (await requireCompany(db, company)).companyId,
      })
      return { json: stats, lines: linesOf(stats) }
    })()
  },
}

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
