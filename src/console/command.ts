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

/** An option with a type: the help's part of it, and how its value is read. `read` throws a UsageError, before anything is opened. */
export type TypedOption<T> = OptionSpec & {
  everywhere?: true
  read: (given: string | string[] | boolean | undefined, flag: string) => T
}

/** `option.text('FILE', 'where to write')`: each kind of option that a command may declare. */
export const option = {
  flag: (help: string): TypedOption<boolean> => ({ type: 'boolean', help, read: given => given === true }),

  text: (value: string, help: string): TypedOption<string | undefined> => option.parsed(value, help, given => given),

  /** `parse` throws a UsageError. */
  parsed: <T>(value: string, help: string, parse: (given: string, flag: string) => T): TypedOption<T | undefined> => ({
    type: 'string',
    value,
    help,
    read: (given, flag) => (typeof given === 'string' ? parse(given, flag) : undefined),
  }),

  /** In upper or lower case. */
  oneOf: <T extends string>(values: readonly T[], help: string): TypedOption<T | undefined> =>
    option.parsed(values.join('|'), help, (given, flag) => {
      const found = values.find(value => value.toUpperCase() === given.toUpperCase())
      if (found === undefined) throw new UsageError(`${flag} must be ${values.join(', ')}`)
      return found
    }),

  /** `meaning` of the smallest number, as in `from 0 (for ever) to 365`. */
  wholeNumber: (value: string, help: string, range: { from: number; to: number; meaning?: string }) =>
    option.parsed(value, help, (given, flag) => {
      const number = Number(given)
      if (given.trim() !== '' && Number.isInteger(number) && number >= range.from && number <= range.to) return number
      const from = range.meaning ? `${range.from} (${range.meaning})` : range.from
      throw new UsageError(`${flag} must be a whole number from ${from} to ${range.to}`)
    }),

  /** Given several times. */
  many: (value: string, help: string): TypedOption<string[]> => ({
    type: 'string',
    value,
    multiple: true,
    help,
    read: given => (Array.isArray(given) ? given : []),
  }),

  /** The help of every action lists it, also of one that refuses it. */
  everywhere: <T>(taken: TypedOption<T>): TypedOption<T> => ({ ...taken, everywhere: true }),

  /** The actions that take it need it. */
  required: <T>(optional: TypedOption<T>): TypedOption<Exclude<T, undefined>> => ({
    ...optional,
    read: (given, flag) => {
      if (given === undefined || given === '')
        throw new UsageError(`${flag}${optional.type === 'string' ? ` ${optional.value}` : ''} is missing`)
      return optional.read(given, flag) as Exclude<T, undefined>
    },
  }),
}

/** A word after the action: `ID`, `[FILE]` (may be absent), `ID…` (one or more), `[-- ARGUMENTS]` (of another program), or one that is parsed. */
export type WordSpec = string | TypedWord<unknown>
export type TypedWord<T> = { name: string; parse: (given: string) => T; whatIsMissing: string }
export const word = <T>(name: string, parse: (given: string) => T, whatIsMissing = name): TypedWord<T> => ({
  name,
  parse,
  whatIsMissing,
})

type WordValue<W> = W extends TypedWord<infer T> ? T : W extends `[${string}]` ? string | undefined : string
type WordValues<W extends readonly WordSpec[]> = W extends readonly [`${string}…`]
  ? [string, ...string[]]
  : W extends readonly [`[-- ${string}]`]
    ? string[]
    : { -readonly [K in keyof W]: WordValue<W[K]> }

type TypedOptions = Record<string, TypedOption<unknown>>
type OptionValues<O extends TypedOptions, N extends keyof O> = {
  [K in N]: O[K] extends TypedOption<infer T> ? T : never
}

type Opens = 'reading' | 'writing' | 'nothing'
type OpenedFor<S extends Opens> = S extends 'reading' ? Reading : S extends 'writing' ? Opened : undefined

type ActionSpec<O extends TypedOptions, W extends readonly WordSpec[], N extends keyof O, S extends Opens> = {
  words?: W
  /** The options in the usage line. */
  form?: string
  what: string
  /** A second usage line: the options in it, and what it does. */
  otherwise?: [form: string, what: string]
  options?: readonly N[]
  /** reading: without the secrets of the database; writing: it is refused without them. */
  opens: S
  /** Of several options together; before anything is opened. */
  check?: (input: ActionInput<O, W, N>) => void
}

export type ActionInput<O extends TypedOptions, W extends readonly WordSpec[], N extends keyof O> = {
  words: WordValues<W>
  options: OptionValues<O, N>
  json: boolean
} & Pick<Input, 'envFile' | 'answerNow'>

type AnyAction = {
  words: readonly WordSpec[]
  form: string
  what: string
  otherwise?: [form: string, what: string] | undefined
  options: readonly string[]
  run: (input: Input, words: string[]) => Promise<Answer | null>
}

/**
 * A command whose usage lines, numbers of words and checks follow from what its actions declare. `actions` gets a function that makes
 * one: `action({ words, options, what, opens }, run)`. Without a name for it, the command has this one only.
 */
export function command<O extends TypedOptions>(
  { name, options, ...rest }: { name: string; options: O } & Pick<Command, 'notes' | 'aliases'>,
  actions: (action: ActionMaker<O>) => AnyAction | Record<string, AnyAction>,
): Command {
  const made = actions(actionMaker(options))
  if (isAction(made))
    return {
      ...rest,
      options,
      usage: usageOf(name, made),
      words: mostWords(made),
      run: async input => made.run(input, input.words),
    }
  return {
    ...rest,
    options: withActions(options, made),
    usage: Object.entries(made).flatMap(([action, spec]) => usageOf(`${name} ${action}`, spec)),
    words: Object.fromEntries(Object.entries(made).map(([action, spec]) => [action, mostWords(spec)])),
    run: async input => {
      const [given, ...words] = input.words
      return actionOf(made, given, name).run(input, words)
    },
  }
}

/** Which actions take each option, for the help. */
function withActions(options: TypedOptions, made: Record<string, AnyAction>): Options {
  const takers = (option: string) => Object.keys(made).filter(action => made[action]!.options.includes(option))
  return Object.fromEntries(
    Object.entries(options).map(([name, spec]) => [name, spec.everywhere ? spec : { ...spec, actions: takers(name) }]),
  )
}

type ActionMaker<O extends TypedOptions> = <
  const W extends readonly WordSpec[] = [],
  const N extends keyof O = never,
  const S extends Opens = Opens,
>(
  spec: ActionSpec<O, W, N, S>,
  run: (input: ActionInput<O, W, N>, opened: OpenedFor<S>) => Promise<Answer | null>,
) => AnyAction

const isAction = (made: AnyAction | Record<string, AnyAction>): made is AnyAction => typeof made.run === 'function'

const actionMaker =
  <O extends TypedOptions>(all: O): ActionMaker<O> =>
  (spec, run) => {
    const { words = [], form = '', what, otherwise, options = [], opens, check } = spec
    const names = options as readonly string[]
    return {
      words,
      form,
      what,
      otherwise,
      options: names,
      async run({ values, envFile, answerNow }, given) {
        const unused = Object.keys(values).find(name => name !== 'json' && !names.includes(name))
        if (unused) throw new UsageError(`--${unused} cannot be used here`)
        const input = {
          words: readWords(words, given),
          options: Object.fromEntries(names.map(name => [name, all[name]!.read(values[name], `--${name}`)])),
          json: values.json === true,
          envFile,
          answerNow,
        } as Parameters<typeof run>[0]
        check?.(input)
        return use(opens, opened => run(input, opened as Parameters<typeof run>[1]))
      },
    }
  }

function use<T>(opens: Opens, run: (opened: Opened | Reading | undefined) => Promise<T>): Promise<T> {
  if (opens === 'nothing') return run(undefined)
  return opens === 'reading' ? withStorageToRead(run) : withStorage(run)
}

const nameOf = (spec: WordSpec) => (typeof spec === 'string' ? spec : spec.name)

const isOfAnotherProgram = (spec: WordSpec) => nameOf(spec).startsWith('[-- ')

function readWords(all: readonly WordSpec[], given: string[]): unknown[] {
  const specs = all.filter(spec => !isOfAnotherProgram(spec))
  const read = specs.map((spec, index) => {
    if (/^\[.*\]$/.test(nameOf(spec))) return given[index]
    if (typeof spec === 'string') return required(given[index], spec.replace(/…$/, ''))
    return spec.parse(required(given[index], spec.whatIsMissing))
  })
  return [...read, ...given.slice(specs.length)]
}

const mostWords = ({ words }: AnyAction) =>
  words.some(spec => nameOf(spec).endsWith('…') || isOfAnotherProgram(spec)) ? Number.POSITIVE_INFINITY : words.length

const usageOf = (called: string, action: AnyAction): Command['usage'] => [
  [formOf(called, action), action.what],
  ...(action.otherwise ? [[`${called} ${action.otherwise[0]}`, action.otherwise[1]] as [string, string]] : []),
]

const formOf = (called: string, { words, form }: AnyAction) =>
  [called, ...words.map(nameOf), form].filter(part => part !== '').join(' ')
