import { parseArgs } from 'node:util'
import { type Command, type Input, type OptionSpec, UsageError } from './command.ts'
import { didYouMean } from './nearest.ts'

const COMMON_OPTIONS = { json: { type: 'boolean' } } as const

export function readInput(given: string[], command: Command): Input {
  const argv = withoutAliases(given, command.aliases ?? {})
  const options = { ...command.options, ...COMMON_OPTIONS }
  refuseUnknown(argv, options)
  refuseWithoutValue(argv, options)
  try {
    const { positionals, values } = parseArgs({ args: argv, options, allowPositionals: true, strict: true })
    refuseSurplus(positionals, values, command)
    return { words: positionals, values: values as Input['values'] }
  } catch (error) {
    if (error instanceof UsageError) throw error
    const [sentence] = (error as Error).message.split('\n')
    throw new UsageError(sentence!.replace(/\.$/, ''))
  }
}

function refuseSurplus(positionals: string[], values: object, { words, options }: Command): void {
  const [action = ''] = positionals
  // An unknown action is refused by the command, which names those that there are.
  const max = typeof words === 'number' ? words : 1 + (words[action] ?? Number.POSITIVE_INFINITY)
  const surplus = positionals[max]
  if (surplus !== undefined) throw new UsageError(`unexpected argument "${surplus}"`)
  if (typeof words === 'number' || !Object.hasOwn(words, action)) return
  const unused = Object.keys(values).find(name => options[name]?.actions?.includes(action) === false)
  if (unused) throw new UsageError(`--${unused} cannot be used here`)
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

type Known = Record<string, Pick<OptionSpec, 'type'> & { value?: string }>

/** With one sentence, whatever follows the option. */
function refuseWithoutValue(argv: string[], options: Known): void {
  const { tokens } = parseArgs({ args: argv, options, strict: false, tokens: true })
  for (const token of tokens) {
    if (token.kind !== 'option' || options[token.name]?.type !== 'string' || token.inlineValue) continue
    if (token.value !== undefined && !/^-./.test(token.value)) continue
    const isOption = token.value === undefined || Object.hasOwn(options, token.value.replace(/^--/, ''))
    const dashed = isOption ? '' : `; one that begins with a dash is given as ${token.rawName}=${token.value}`
    throw new UsageError(`${token.rawName} needs a value: ${token.rawName} ${options[token.name]!.value}${dashed}`)
  }
}

function refuseUnknown(argv: string[], options: Known): void {
  const { tokens } = parseArgs({ args: argv, options, strict: false, tokens: true })
  for (const token of tokens) {
    if (token.kind !== 'option' || Object.hasOwn(options, token.name)) continue
    throw new UsageError(`There is no option ${token.rawName}${didYouMean(token.name, Object.keys(options), '--')}`)
  }
}
