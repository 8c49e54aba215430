import { type ParseArgsConfig, parseArgs } from 'node:util'
import type { Logger } from 'pino'
import { type Config, loadConfig } from '../config.ts'
import { openStorage, type Storage } from '../main-storage.ts'
import { makeLog } from '../telemetry/log.ts'

/** The command was called wrongly: exit code 2, with the usage. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** The command could not do it: exit code 1, one sentence. */
export class CommandFailed extends Error {
  override name = 'CommandFailed'
}

/** What a command answers: a value for `--json`, and lines for people. exitCode 1: done in part, and the answer says which. */
export type Answer = { json: unknown; lines: string[]; exitCode?: number }

export type Options = NonNullable<ParseArgsConfig['options']>

export type Command = {
  usage: string
  /** How many words may follow the command's name. */
  words: number
  options: Options
  run: (input: Input) => Promise<Answer | null>
}

export type Input = {
  words: string[]
  values: Record<string, string | boolean | undefined>
}

export function readInput(argv: string[], { options, words }: Command): Input & { json: boolean } {
  try {
    const { positionals, values } = parseArgs({
      args: argv,
      options: { ...options, json: { type: 'boolean' } },
      allowPositionals: true,
      strict: true,
    })
    if (positionals.length > words) throw new Error(`"${positionals[words]}" is one word too many`)
    return { words: positionals, values: values as Input['values'], json: values.json === true }
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

export function text(values: Input['values'], name: string): string | undefined {
  const value = values[name]
  return typeof value === 'string' ? value : undefined
}

export function required(value: string | undefined, what: string): string {
  if (value === undefined || value === '') throw new UsageError(`${what} is missing`)
  return value
}

export type Opened = Storage & { config: Config; log: Logger }

/** Opens the database beside a running gateway or alone, and closes it in any case. */
export async function withStorage<T>(use: (opened: Opened) => Promise<T>): Promise<T> {
  const config = loadConfig()
  const log = makeLog({ level: 'silent', pretty: false })
  const storage = await openStorage(config, { use: 'command', say: () => {}, onLost: () => {}, log })
  try {
    return await use({ ...storage, config, log })
  } finally {
    await storage.close()
  }
}
