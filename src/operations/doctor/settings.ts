import { type InUse, isCaptureOnly, nameOf, type RunningProcess } from '../../settings/processes.ts'
import { type RecordedSettings, recordedSettings } from '../../settings/recorded.ts'
import { DEFAULT_EMAIL_FROM, type Settings } from '../../settings/settings.ts'
import type { Check } from './command.ts'

export const laneOf = ({ REDIS_URL }: { REDIS_URL?: string | undefined }) => (REDIS_URL ? 'bullmq' : 'direct')

/** The settings of the running gateway, and whether this shell has the same. */
export function settingsChecks({ processes, settings, providers }: InUse, config: Settings): Check[] {
  const detail = `provider ${providers.join(', then ')}; lane ${laneOf(settings)}`
  if (processes.length === 0) return [notRunning(providers, config)]
  const own = recordedSettings(config)
  const differing = COMPARED.filter(name => textOf(own, name) !== textOf(settings, name))
  const note = differing.length > 0 ? `; this shell differs in ${differing.join(', ')}` : ''
  return [{ name: 'settings', state: 'ok', detail: `${detail}, as recorded by the running gateway${note}` }]
}

function notRunning(providers: string[], config: Settings): Check {
  const name = 'settings'
  const own = config.EMAIL_PROVIDER.join(',')
  const detail = `no gateway is running; by the settings of this shell: provider ${own}, lane ${laneOf(config)}`
  if (providers.join(',') === own) return { name, state: 'ok', detail }
  const state = isCaptureOnly(config.EMAIL_PROVIDER) ? 'failed' : 'warning'
  return {
    name,
    state,
    detail: `EMAIL_PROVIDER is ${own} in this shell, and the mail of this database is for ${providers.join(',')}; no gateway is running`,
  }
}

/** With a real provider, the default of EMAIL_FROM is an address that receivers refuse. null: it is not in use. */
export function unsetSender(providers: readonly string[], emailFrom: string | undefined): string | null {
  if (isCaptureOnly([...providers]) || emailFrom !== DEFAULT_EMAIL_FROM) return null
  return 'EMAIL_FROM is not set: e-mails of companies without a sender of their own leave as gateway@localhost.localdomain, which receivers refuse. Set EMAIL_FROM=ADDRESS and restart, or: email-gateway company update NAME --from-domains DOMAIN --from ADDRESS'
}

export function senderChecks({ providers, settings }: Pick<InUse, 'providers' | 'settings'>): Check[] {
  const detail = unsetSender(providers, settings.EMAIL_FROM)
  return detail === null ? [] : [{ name: 'sender', state: 'warning', detail }]
}

/** The running processes, and settings in which they differ but should not. */
export function processChecks(processes: RunningProcess[]): Check[] {
  const name = 'processes'
  if (processes.length === 0)
    return [{ name, state: 'warning', detail: 'none is running; start one with: email-gateway start' }]
  const checks: Check[] = [
    { name, state: 'ok', detail: processes.map(one => `${nameOf(one)} (${one.version})`).join(', ') },
  ]
  const [first, ...others] = processes
  for (const other of others) {
    const differing = SHARED.filter(setting => textOf(first!.settings, setting) !== textOf(other.settings, setting))
    if (differing.length > 0)
      checks.push({
        name,
        state: 'warning',
        detail: `${nameOf(first!)} and ${nameOf(other)} differ in ${differing.join(', ')}`,
      })
    if (first!.version !== other.version)
      checks.push({ name, state: 'warning', detail: `${nameOf(first!)} and ${nameOf(other)} differ in their version` })
  }
  return checks
}

/** Settings that all processes of one database should share. */
const SHARED = [
  'SMTP_URL',
  'REDIS_URL',
  'AWS_REGION',
  'AWS_ENDPOINT_URL_SESV2',
  'RESEND_BASE_URL',
  'EMAIL_FROM',
  'LINK_SCHEMES',
] as const
const COMPARED = ['EMAIL_PROVIDER', ...SHARED] as const

const textOf = (settings: RecordedSettings, name: keyof RecordedSettings) => JSON.stringify(settings[name])
