import type { Config } from '../config.ts'
import { listProcesses, type RunningProcess, readProviders } from '../db/processes.ts'
import type { Queryable } from '../db/query.ts'
import { type RecordedSettings, recordedSettings } from '../recorded-settings.ts'
import type { Settings } from '../settings.ts'

export type InUse = {
  processes: RunningProcess[]
  /** Of the running gateway; of this shell when none is running. */
  settings: RecordedSettings
  providers: string[]
}

/** The settings that the gateway's processes have recorded: the environment of this shell may differ from theirs. */
export async function readInUse(db: Queryable, config: Settings): Promise<InUse> {
  const processes = await listProcesses(db)
  const settings = processes.length > 0 ? settingsOf(processes) : recordedSettings(config)
  const recorded = processes.length > 0 ? settings.EMAIL_PROVIDER : null
  return { processes, settings, providers: recorded ?? (await readProviders(db)) ?? config.EMAIL_PROVIDER }
}

export const nameOf = ({ role, host, pid }: RunningProcess) => `${role} ${host}:${pid}`

/** API processes have the settings for provider events, workers those for sending; where both have one, the worker's is used. */
function settingsOf(processes: RunningProcess[]): RecordedSettings {
  const workersFirst = processes.toSorted((a, b) => Number(a.role === 'api') - Number(b.role === 'api'))
  return Object.assign({}, ...workersFirst.toReversed().map(one => one.settings))
}

/** This shell's settings, with those that decide how an e-mail is accepted taken from the running gateway. */
export async function withGatewaySettings(db: Queryable, config: Config): Promise<Config> {
  const { settings, providers } = await readInUse(db, config)
  const { EMAIL_FROM, RETRY_POLICY, LINK_SCHEMES } = { ...config, ...settings }
  return { ...config, EMAIL_PROVIDER: providers, EMAIL_FROM, RETRY_POLICY, LINK_SCHEMES }
}
