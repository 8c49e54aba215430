import type { Queryable } from '../../platform/postgres/query.ts'
import { findConfiguredSecrets, type ReadingConfig } from '../../settings/config.ts'
import { type InUse, isCaptureOnly, nameOf, type RunningProcess } from '../../settings/processes.ts'
import { type RecordedSettings, recordedSettings } from '../../settings/recorded.ts'
import { findSecretsProblem } from '../../settings/secrets-of-database.ts'
import { DEFAULT_EMAIL_FROM, type Settings } from '../../settings/settings.ts'
import { failed, ok, type Verdict, warning } from './verdict.ts'

export const laneOf = ({ REDIS_URL }: { REDIS_URL?: string | undefined }) => (REDIS_URL ? 'bullmq' : 'direct')

/** The settings of the running gateway, and whether this shell has the same. */
export function checkSettings({ processes, settings, providers }: InUse, config: Settings): Verdict {
  if (processes.length === 0) return checkOwnSettings(providers, config)
  const own = recordedSettings(config)
  const differing = COMPARED.filter(name => textOf(own, name) !== textOf(settings, name))
  const note = differing.length > 0 ? `; this shell differs in ${differing.join(', ')}` : ''
  return ok(
    `provider ${providers.join(', then ')}; lane ${laneOf(settings)}, as recorded by the running gateway${note}`,
  )
}

function checkOwnSettings(providers: string[], config: Settings): Verdict {
  const own = config.EMAIL_PROVIDER.join(',')
  if (providers.join(',') === own)
    return ok(`no gateway is running; by the settings of this shell: provider ${own}, lane ${laneOf(config)}`)
  const detail = `EMAIL_PROVIDER is ${own} in this shell, and the mail of this database is for ${providers.join(',')}; no gateway is running`
  return isCaptureOnly(config.EMAIL_PROVIDER) ? failed(detail) : warning(detail)
}

/** With a real provider, the default of EMAIL_FROM is an address that receivers refuse. null: it is not in use. */
export function unsetSender(providers: readonly string[], emailFrom: string | undefined): string | null {
  if (isCaptureOnly([...providers]) || emailFrom !== DEFAULT_EMAIL_FROM) return null
  return 'EMAIL_FROM is not set: e-mails of companies without a sender of their own leave as gateway@localhost.localdomain, which receivers refuse. Set EMAIL_FROM=ADDRESS and restart, or: email-gateway company update NAME --from-domains DOMAIN --from ADDRESS'
}

export function checkSender({ providers, settings }: Pick<InUse, 'providers' | 'settings'>): Verdict[] {
  const problem = unsetSender(providers, settings.EMAIL_FROM)
  return problem === null ? [] : [warning(problem)]
}

export async function checkSecrets(db: Queryable, config: ReadingConfig): Promise<Verdict> {
  const { found, missing } = findConfiguredSecrets(config)
  if (!found) return warning(`not checked: ${missing.join(' and ')} not set in this shell`)
  const problem = await findSecretsProblem(db, { ...config, ...found })
  return problem ? failed(problem) : ok('HASH_PEPPER and ENCRYPTION_KEY are those of this database')
}

/** The running processes, and settings in which they differ but should not. */
export function checkProcesses(processes: RunningProcess[]): Verdict[] {
  const [first, ...others] = processes
  if (!first) return [warning('none is running; start one with: email-gateway start')]
  const verdicts = [ok(processes.map(process => `${nameOf(process)} (${process.version})`).join(', '))]
  for (const other of others) {
    const both = `${nameOf(first)} and ${nameOf(other)}`
    const differing = SHARED.filter(name => textOf(first.settings, name) !== textOf(other.settings, name))
    if (differing.length > 0) verdicts.push(warning(`${both} differ in ${differing.join(', ')}`))
    if (first.version !== other.version) verdicts.push(warning(`${both} differ in their version`))
  }
  return verdicts
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
