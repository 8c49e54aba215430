import { userInfo } from 'node:os'
import type { Logger } from 'pino'
import type { Config, ReadingConfig } from '../settings/config.ts'
import type { ProblemCode } from '../web/problem.ts'
import { didYouMean } from './nearest.ts'
import type { Storage } from './storage.ts'

/** `json` is printed with `--json`, `lines` without. exitCode 1: partly done, and the answer says which part. `warning` is for people, on standard error. */
export type Answer = { json: unknown; lines: string[]; exitCode?: number; warning?: string | null }

/** `value` is the placeholder in the help, as in `--limit N`. */
export type OptionSpec =
  /** multiple: it may be given several times; the values are read with `texts`. */
  ({ type: 'string'; value: string; multiple?: boolean } | { type: 'boolean' }) & {
    help: string
    /** The actions that take it; without, every action does, or the command refuses it itself. */
    actions?: readonly string[]
  }
export type Options = Record<string, OptionSpec>

export type Command = {
  /** Each form of the command, without the program's name, and what it does. */
  usage: [form: string, what: string][]
  /** Printed below the options. */
  notes?: string[]
  /** Maximum number of positional arguments after the command's name; by action: after the name of the action. */
  words: number | Record<string, number>
  options: Options
  /** Former spellings of options, which the help does not show. */
  aliases?: Record<string, string>
  run: (input: Input) => Promise<Answer | null>
}

export type Input = {
  words: string[]
  values: Record<string, string | string[] | boolean | undefined>
  /** The `.env` file that settings were read from, if any. */
  envFile?: string | null
  /** For a command that goes on running: prints its answer now. A later failure is then one line on standard error, not a second answer. */
  answerNow?: (answer: Answer) => void
}

export function actionOf<Action>(actions: Record<string, Action>, given: string | undefined, command: string): Action {
  const names = Object.keys(actions)
  if (given !== undefined && Object.hasOwn(actions, given)) return actions[given]!
  const choice = names.length === 1 ? names[0] : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
  if (given === undefined) throw new UsageError(`${command} needs ${choice}`)
  throw new UsageError(`${command} needs ${choice}, not "${given}"${didYouMean(given, names)}`)
}

export function text(values: Input['values'], name: string): string | undefined {
  const value = values[name]
  return typeof value === 'string' ? value : undefined
}

export function texts(values: Input['values'], name: string): string[] {
  const value = values[name]
  return Array.isArray(value) ? value : []
}

export function required(value: string | undefined, what: string): string {
  if (value === undefined || value === '') throw new UsageError(`${what} is missing`)
  return value
}

/** For read-only actions: without secrets. */
export type Reading = Storage & { config: ReadingConfig; log: Logger }
export type Opened = Reading & { config: Config }

/** Loaded here: help and wrong arguments need no database. */
const parts = async () => ({
  ...(await import('../settings/config.ts')),
  ...(await import('./storage.ts')),
  ...(await import('../platform/telemetry/log.ts')),
})

/** Opens the existing database, whether a gateway is running or not, and closes it afterwards. Creates and migrates nothing. */
export async function withStorage<T>(use: (opened: Opened) => Promise<T>): Promise<T> {
  const { loadConfig, openExistingStorage, makeLog } = await parts()
  const config = loadConfig(undefined, 'find')
  const log = silentLog(makeLog)
  return closing(config, await openExistingStorage(config, storageOptions(log)), log, use)
}

/** Like withStorage, without secrets. */
export async function withStorageToRead<T>(use: (opened: Reading) => Promise<T>): Promise<T> {
  const { loadReadingConfig, openToRead, makeLog } = await parts()
  const config = loadReadingConfig()
  const log = silentLog(makeLog)
  return closing(config, await openToRead(config, storageOptions(log)), log, use)
}

/** An action that only reads, and needs neither HASH_PEPPER nor ENCRYPTION_KEY. */
export const reading =
  <Args extends unknown[], T>(use: (opened: Reading, ...args: Args) => Promise<T>) =>
  (...args: Args): Promise<T> =>
    withStorageToRead(opened => use(opened, ...args))

/** Any other action: it is refused without the secrets of this database. */
export const writing =
  <Args extends unknown[], T>(use: (opened: Opened, ...args: Args) => Promise<T>) =>
  (...args: Args): Promise<T> =>
    withStorage(opened => use(opened, ...args))

/** Creates the database if needed and migrates it. */
export async function withMigratedStorage<T>(
  use: (opened: Opened, applied: string[]) => Promise<T>,
  secrets: 'record' | 'restored' = 'record',
): Promise<T> {
  const { loadConfig, openStorage, makeLog } = await parts()
  const config = loadConfig()
  const log = silentLog(makeLog)
  const { applied, ...storage } = await openStorage(config, storageOptions(log), secrets)
  return closing(config, storage, log, opened => use(opened, applied))
}

const silentLog = (makeLog: MakeLog) => makeLog({ level: 'silent', pretty: false })
type MakeLog = (options: { level: string; pretty: boolean }) => Logger
const storageOptions = (log: Logger) => ({ use: 'command' as const, logInfo: () => {}, onLost: () => {}, log })

async function closing<C extends ReadingConfig, T>(
  config: C,
  storage: Storage,
  log: Logger,
  use: (opened: Storage & { config: C; log: Logger }) => Promise<T>,
): Promise<T> {
  try {
    return await use({ ...storage, config, log })
  } finally {
    await storage.close()
  }
}

/** Wrong arguments: exit code 2, and the usage is printed. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** What only the command line refuses. Everything that the API refuses, too, has the API's code. */
type OwnCode =
  | 'AWS_CREDENTIALS'
  | 'AWS_PERMISSION_MISSING'
  | 'AWS_REFUSED'
  | 'AWS_UNREACHABLE'
  | 'BAD_SETTING'
  | 'FAILED'
  | 'FILE_EXISTS'
  | 'NO_WORKER'
  | 'UNKNOWN_ERROR_CODE'
  | 'WEBHOOK_NOT_ACCEPTED'
  | 'WEBHOOK_WAITING'

export type FailureCode = ProblemCode | OwnCode

/** The command failed: exit code 1 and the message; `code` is printed with `--json`. */
export class CommandFailed extends Error {
  override name = 'CommandFailed'
  readonly code: FailureCode
  constructor(message: string, code: FailureCode = 'FAILED') {
    super(message)
    this.code = code
  }
}

export const notFound = (message: string) => new CommandFailed(message, 'NOT_FOUND')

/** Who runs this command, for the audit log. A container may run as a user id without a name. */
export function operator(): string {
  return `cli:${userName()}`.slice(0, 100)
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}

export function limitOf(values: Input['values'], max: number): number | undefined {
  const given = text(values, 'limit')
  if (given === undefined) return undefined
  const limit = Number(given)
  if (!Number.isInteger(limit) || limit < 1 || limit > max)
    throw new UsageError(`--limit must be a whole number from 1 to ${max}`)
  return limit
}
