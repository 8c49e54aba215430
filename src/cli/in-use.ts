import { type Config, type RecordedSettings, recordedSettings, type Settings } from '../config.ts'
import type { Queryable } from '../db/pool.ts'
import { listProcesses, type RunningProcess, readProviders } from '../db/processes.ts'

export type InUse = {
  /** Every living process, also those that wait. */
  processes: RunningProcess[]
  /** Those of the running gateway; where none runs, those of this shell. */
  settings: RecordedSettings
  /** What the mail of this database goes through. */
  providers: string[]
}

/**
 * What the gateway works with, as its processes have recorded it. A shell has its own environment, or none: what it would do
 * says nothing about what is done.
 */
export async function readInUse(db: Queryable, config: Settings): Promise<InUse> {
  const processes = await listProcesses(db)
  const settings = processes.some(takesMail) ? settingsOf(processes.filter(takesMail)) : recordedSettings(config)
  const recorded = settings.EMAIL_PROVIDER && processes.some(takesMail) ? settings.EMAIL_PROVIDER : null
  return { processes, settings, providers: recorded ?? (await readProviders(db)) ?? config.EMAIL_PROVIDER }
}

export const takesMail = ({ waiting }: RunningProcess) => waiting === null

export const nameOf = ({ role, host, pid }: RunningProcess) => `${role} ${host}:${pid}`

/** Each answers for its part: who listens has the settings of provider events, who sends those of the providers. */
function settingsOf(processes: RunningProcess[]): RecordedSettings {
  const workersFirst = processes.toSorted((a, b) => Number(a.role === 'api') - Number(b.role === 'api'))
  return Object.assign({}, ...workersFirst.toReversed().map(one => one.settings))
}

/** The shell's own settings with those that decide how an e-mail is accepted taken from the running gateway. */
export async function asTheGatewayAccepts(db: Queryable, config: Config): Promise<Config> {
  const { settings, providers } = await readInUse(db, config)
  const { EMAIL_FROM = config.EMAIL_FROM, RETRY_POLICY = config.RETRY_POLICY } = settings
  return { ...config, EMAIL_PROVIDER: providers, EMAIL_FROM, RETRY_POLICY }
}
