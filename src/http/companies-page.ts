import { escapeHtml, formatTime, layout } from './page.ts'

export type CompanyOnPage = {
  companyId: string
  name: string
  state: 'active' | 'warned' | 'paused'
  sent: number
  bounceRate: number
  complaintRate: number
  warnedAt: string | null
  warnReason: string | null
  pausedAt: string | null
  pauseReason: string | null
  pausedBy: string | null
  webhooks: { enabled: number; failing: number; disabled: { reason: string; disabledAt: string }[] }
}

export function companiesPage(companies: CompanyOnPage[]): string {
  const rows = companies.map(companyRow).join('')
  const empty = '<tr><td colspan="6" class="quiet">No companies yet.</td></tr>'
  return layout(
    'Companies',
    `<h1>Companies</h1>${notice(companies)}
    <table><thead><tr><th>Company</th><th>State</th><th>Sent, 24 h</th><th>Bounces</th><th>Complaints</th><th>Webhooks</th></tr></thead>
    <tbody>${rows || empty}</tbody></table>
    <p class="quiet">Resume a company with <code>npx email-gateway company resume NAME --reason TEXT</code>; its rates are then counted from zero.</p>`,
  )
}

function notice(companies: CompanyOnPage[]): string {
  const [warned, paused] = (['warned', 'paused'] as const).map(state => companies.filter(one => one.state === state))
  const withDisabledWebhooks = companies.filter(one => one.webhooks.disabled.length > 0).length
  const standing =
    warned!.length + paused!.length === 0
      ? '<p class="quiet">All of them are in good standing.</p>'
      : `<p class="bad">${warned!.length} warned, ${paused!.length} paused.</p>`
  return withDisabledWebhooks === 0
    ? standing
    : `${standing}<p class="bad">Webhooks of ${withDisabledWebhooks} were disabled.</p>`
}

function companyRow(company: CompanyOnPage): string {
  const { name, companyId, sent, bounceRate, complaintRate } = company
  return `<tr><td title="${escapeHtml(companyId)}">${escapeHtml(name)}</td><td>${stateOf(company)}</td><td class="number">${sent}</td>
    <td class="number">${percent(bounceRate)}</td><td class="number">${percent(complaintRate)}</td><td>${webhooksOf(company)}</td></tr>`
}

function stateOf({ state, warnedAt, warnReason, pausedAt, pauseReason, pausedBy }: CompanyOnPage): string {
  if (state === 'active') return 'active'
  const [since, why] = state === 'paused' ? [pausedAt, `${pauseReason} (${pausedBy})`] : [warnedAt, warnReason]
  return `<span class="bad">${state}</span> since ${formatTime(new Date(since!))}: ${escapeHtml(why ?? '')}`
}

function webhooksOf({ webhooks: { enabled, failing, disabled } }: CompanyOnPage): string {
  const active = failing === 0 ? `${enabled}` : `${enabled}, <span class="bad">${failing} failing</span>`
  const [last] = disabled
  if (!last) return active
  return `${active}, <span class="bad">${disabled.length} disabled</span>, last at ${formatTime(new Date(last.disabledAt))}: ${escapeHtml(last.reason)}`
}

const percent = (rate: number) => `${(rate * 100).toFixed(2)} %`
