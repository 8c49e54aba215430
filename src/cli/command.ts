import type { Logger } from 'pino'
import { openExistingStorage, openStorage, openToRead, type Storage } from '../compose/storage.ts'
import { type Config, loadConfig, loadReadingConfig, type ReadingConfig } from '../config.ts'
import { makeLog } from '../telemetry/log.ts'
import { didYouMean } from './nearest.ts'

/** The command was called wrongly: exit code 2, with the usage. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** The command could not do it: exit code 1, one sentence, and with `--json` the code. */
export class CommandFailed extends Error {
  override name = 'CommandFailed'
  readonly code: string
  constructor(message: string, code = 'FAILED') {
    super(message)
    this.code = code
  }
}

/** What a command answers: a value for `--json`, and lines for people. exitCode 1: done in part, and the answer says which. */
export type Answer = { json: unknown; lines: string[]; exitCode?: number }

/** `value` is the word that help shows for it, as in `--limit N`. */
export type OptionSpec = { type: 'string'; value: string; help: string } | { type: 'boolean'; help: string }
export type Options = Record<string, OptionSpec>

export type Command = {
  /** Its line in the list of all commands. */
  summary: string
  /** Every way to call it, without the program's name, and what it does. */
  usage: [form: string, what: string][]
  /** Sentences below the options. */
  notes?: string[]
  /** How many words may follow the command's name. */
  words: number
  options: Options
  run: (input: Input) => Promise<Answer | null>
}

export type Input = {
  words: string[]
  values: Record<string, string | boolean | undefined>
  /** The `.env` that settings were read from, if there is one. */
  envFile?: string | null
}

/** The action that the first word names. */
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

export function required(value: string | undefined, what: string): string {
  if (value === undefined || value === '') throw new UsageError(`${what} is missing`)
  return value
}

/** What an action that only reads is given: no secrets. */
export type Reading = Storage & { config: ReadingConfig; log: Logger }
export type Opened = Reading & { config: Config }

/** Opens the database beside a running gateway or alone, and closes it in any case. Nothing is made or migrated. */
export async function withStorage<T>(use: (opened: Opened) => Promise<T>): Promise<T> {
  const config = loadConfig(undefined, 'find')
  return closing(config, await openExistingStorage(config, quiet()), use)
}

/** The same without secrets. */
export async function withStorageToRead<T>(use: (opened: Reading) => Promise<T>): Promise<T> {
  const config = loadReadingConfig()
  return closing(config, await openToRead(config, quiet()), use)
}

/** An action that only reads, and neither hashes with the pepper nor encrypts: it needs no secrets. */
export const reading =
  <Args extends unknown[], T>(use: (opened: Reading, ...args: Args) => Promise<T>) =>
  (...args: Args): Promise<T> =>
    withStorageToRead(opened => use(opened, ...args))

/** Every other action: it is refused without the secrets of this database. */
export const writing =
  <Args extends unknown[], T>(use: (opened: Opened, ...args: Args) => Promise<T>) =>
  (...args: Args): Promise<T> =>
    withStorage(opened => use(opened, ...args))

/** The same for the command that makes and migrates it. */
export async function withMigratedStorage<T>(use: (opened: Opened, applied: string[]) => Promise<T>): Promise<T> {
  const config = loadConfig()
  const { applied, ...storage } = await openStorage(config, quiet())
  return closing(config, storage, opened => use(opened, applied))
}

const silent = () => makeLog({ level: 'silent', pretty: false })
const quiet = () => ({ use: 'command' as const, logInfo: () => {}, onLost: () => {}, log: silent() })

async function closing<C extends ReadingConfig, T>(
  config: C,
  storage: Storage,
  use: (opened: Storage & { config: C; log: Logger }) => Promise<T>,
): Promise<T> {
  try {
    return await use({ ...storage, config, log: silent() })
  } finally {
    await storage.close()
  }
}
