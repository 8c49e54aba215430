import { type RecordedSettings, recordedSettings, type Settings } from '../config.ts'
import { isCaptureOnly } from '../contracts/admission.ts'
import type { RunningProcess } from '../db/processes.ts'
import type { Check } from './doctor-check.ts'
import { type InUse, nameOf, takesMail } from './in-use.ts'

export const laneOf = ({ REDIS_URL }: { REDIS_URL?: string | undefined }) => (REDIS_URL ? 'bullmq' : 'direct')

/** With which settings the gateway works, and whether this shell has the same. */
export function settingsChecks({ processes, settings, providers }: InUse, config: Settings): Check[] {
  const detail = `provider ${providers.join(', then ')}; lane ${laneOf(settings)}`
  if (!processes.some(takesMail)) return [notRunning(providers, config)]
  const own = recordedSettings(config)
  const differing = COMPARED.filter(name => textOf(own, name) !== textOf(settings, name))
  const note = differing.length > 0 ? `; this shell has another ${differing.join(', ')}` : ''
  return [{ name: 'settings', state: 'ok', detail: `${detail}, as the running gateway says${note}` }]
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

/** Who runs, who waits and why, and what they should agree in. */
export function processChecks(processes: RunningProcess[]): Check[] {
  const name = 'processes'
  if (processes.length === 0) return [{ name, state: 'warning', detail: 'none is running' }]
  const checks: Check[] = [
    { name, state: 'ok', detail: processes.map(one => `${nameOf(one)} (${one.version})`).join(', ') },
  ]
  for (const one of processes.filter(one => !takesMail(one)))
    checks.push({ name, state: 'warning', detail: `${nameOf(one)} waits: ${one.waiting}` })
  const [first, ...others] = processes.filter(takesMail)
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

/** What processes of one database are expected to have in common. */
const SHARED = [
  'SMTP_URL',
  'REDIS_URL',
  'AWS_REGION',
  'AWS_ENDPOINT_URL_SESV2',
  'RESEND_BASE_URL',
  'EMAIL_FROM',
] as const
const COMPARED = ['EMAIL_PROVIDER', ...SHARED] as const

const textOf = (settings: RecordedSettings, name: keyof RecordedSettings) => JSON.stringify(settings[name])

/** Needs the password, which is not recorded: only a shell that has REDIS_URL can ask. */
export async function redisChecks({ settings }: InUse, config: Settings): Promise<Check[]> {
  const name = 'redis'
  if (!config.REDIS_URL) {
    if (!settings.REDIS_URL) return []
    return [
      { name, state: 'warning', detail: `${settings.REDIS_URL} is not checked: REDIS_URL is not set in this shell` },
    ]
  }
  // Loaded where it is used: every other command would pay for it.
  const { checkRedisSettings, sentenceOf } = await import('../sending/redis-settings.ts')
  try {
    const findings = await checkRedisSettings(config.REDIS_URL)
    if (findings.length === 0) return [{ name, state: 'ok', detail: 'AOF every second, noeviction' }]
    return findings.map(finding => ({ name, state: 'warning', detail: sentenceOf(finding) }))
  } catch (error) {
    return [{ name, state: 'failed', detail: `REDIS_URL cannot be reached: ${(error as Error).message}` }]
  }
}

/** Without them SENT is the last that is ever known of an e-mail, and nothing suppresses. */
export function eventChecks({ settings, providers }: InUse): Check[] {
  const name = 'events'
  const missing: Check[] = []
  const uses = (provider: string) => providers.some(entry => entry.split(':')[0] === provider)
  const say = (setting: string, what: string) =>
    missing.push({ name, state: 'warning', detail: `${setting} is not set: ${what}` })
  if (uses('ses') && !settings.SNS_TOPIC_ARNS)
    say('SNS_TOPIC_ARNS', 'bounces and complaints of Amazon SES are not heard of')
  if (uses('ses') && settings.SNS_TOPIC_ARNS && !settings.SES_CONFIGURATION_SET)
    say('SES_CONFIGURATION_SET', 'only notifications of the identity come, without Send events and tags')
  if (uses('resend') && !settings.RESEND_WEBHOOK_SECRET)
    say('RESEND_WEBHOOK_SECRET', 'bounces and complaints of Resend are not heard of')
  const unsigned = (settings.SNS_TOPIC_ARNS ?? []).filter(
    arn => settings.SNS_REGIONS && !settings.SNS_REGIONS.includes(arn.split(':')[3]!),
  )
  if (unsigned.length > 0)
    missing.push({
      name,
      state: 'failed',
      detail: `SNS_REGIONS lacks the region of ${unsigned.join(', ')}: it is refused`,
    })
  return missing
}
