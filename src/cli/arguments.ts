import { parseArgs } from 'node:util'
import type { Command, Input } from './command.ts'
import { UsageError } from './failures.ts'
import { didYouMean } from './nearest.ts'

const COMMON_OPTIONS = { json: { type: 'boolean' } } as const

export function readInput(given: string[], command: Command): Input {
  const argv = withoutAliases(given, command.aliases ?? {})
  const options = { ...command.options, ...COMMON_OPTIONS }
  refuseUnknown(argv, options)
  try {
    const { positionals, values } = parseArgs({ args: argv, options, allowPositionals: true, strict: true })
    const surplus = positionals[command.words]
    if (surplus !== undefined) throw new Error(`unexpected argument "${surplus}"`)
    return { words: positionals, values: values as Input['values'] }
  } catch (error) {
    const [sentence] = (error as Error).message.split('\n')
    throw new UsageError(sentence!.replace(/\.$/, ''))
  }
}

function withoutAliases(argv: string[], aliases: Record<string, string>): string[] {
  const spelled = (word: string, name: string) => (Object.hasOwn(aliases, name) ? `--${aliases[name]}` : word)
  return argv.map(word => word.replace(/^--(\w+)(?==|$)/, spelled))
}

/** Ignores the arguments after `--`, which are for another program. */
export function hasFlag(argv: string[], ...flags: string[]): boolean {
  const end = argv.indexOf('--')
  return (end < 0 ? argv : argv.slice(0, end)).some(word => flags.includes(word))
}

function refuseUnknown(argv: string[], options: Record<string, { type: 'string' | 'boolean' }>): void {
  const { tokens } = parseArgs({ args: argv, options, strict: false, tokens: true })
  for (const token of tokens) {
    if (token.kind !== 'option' || Object.hasOwn(options, token.name)) continue
    throw new UsageError(`There is no option ${token.rawName}${didYouMean(token.name, Object.keys(options), '--')}`)
  }
}
