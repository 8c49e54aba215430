import { hasFlag, readInput } from '../console/arguments.ts'
import { type Answer, actionOf, type Command, type OptionSpec, UsageError } from '../console/command.ts'
import { didYouMean } from '../console/nearest.ts'
import { printAnswer, printFailure } from '../console/report.ts'
import { programVersion } from '../platform/version.ts'
import { COMMANDS, type CommandEntry } from './commands.ts'

const HELP = ['help', '--help', '-h', '--json']

/** Runs one command to its end and returns the exit code. */
export async function run([first = 'help', ...rest]: string[]): Promise<number> {
  const json = hasFlag([first, ...rest], '--json')
  let usage = overview(COMMANDS)
  let isAnswered = false
  try {
    if (first === '--version' || first === '-v') return version(json)
    const [name, action] = rest.filter(word => !word.startsWith('-'))
    if (HELP.includes(first)) return await help(name, action, json, true)
    const command = await commandOf(first)
    usage = usageOf(first, command)
    if (hasFlag(rest, '--help', '-h')) return await help(first, name, json, false)
    const input = readInput(rest, command)
    const { loadEnvFile } = await import('../settings/config.ts')
    const envFile = loadEnvFile()
    // `start` logs it instead.
    if (envFile && first !== 'start') console.error(`Settings are read from ${envFile}`)
    const answerNow = (answer: Answer) => {
      isAnswered = true
      printAnswer(answer, json)
    }
    const answer = await command.run({ ...input, envFile, answerNow })
    return answer ? printAnswer(answer, json) : 0
  } catch (error) {
    return await printFailure(error, json && !isAnswered, usage)
  }
}

function commandOf(name: string): Promise<Command> {
  if (Object.hasOwn(COMMANDS, name)) return COMMANDS[name]!.load()
  throw new UsageError(`There is no command "${name}"${didYouMean(name, Object.keys(COMMANDS))}`)
}

/** `strict`: what follows the command's name has to be an action; elsewhere it may be any argument. */
async function help(name: string | undefined, action: string | undefined, json: boolean, strict: boolean) {
  const isOverview = name === undefined || name === 'help'
  const command = isOverview ? null : await commandOf(name)
  if (command && action !== undefined && strict) requireAction(command, action, name!)
  const text = command ? helpOf(command, action) : overview(COMMANDS)
  return printAnswer({ json: { usage: text }, lines: text.split('\n') }, json)
}

function requireAction(command: Command, action: string, name: string): void {
  const actions = actionsOf(command)
  if (actions.length === 0) throw new UsageError(`unexpected argument "${action}"`)
  actionOf(Object.fromEntries(actions.map(one => [one, one])), action, name)
}

function version(json: boolean): number {
  const found = programVersion()
  return printAnswer({ json: { version: found, node: process.versions.node }, lines: [found] }, json)
}

type Commands = Record<string, CommandEntry>

const INDENT = '  '
const JSON_OPTION: OptionSpec = {
  type: 'boolean',
  help: 'one JSON value on standard output and nothing else; an error is {"error":{"code","message"}}',
}

export function overview(commands: Commands): string {
  const names = Object.keys(commands)
  const width = Math.max(...names.map(name => name.length))
  return [
    'Usage: email-gateway COMMAND [OPTIONS]',
    '',
    ...names.map(name => `${INDENT}${name.padEnd(width)}  ${commands[name]!.summary}`),
    `${INDENT}${'help'.padEnd(width)}  show the usage of a command: email-gateway help COMMAND [ACTION]`,
    '',
    'Inside the clone, or of a project that depends on it: npx email-gateway COMMAND, also where a message names a command to run.',
    'Every command takes --json: one JSON value on standard output and nothing else, {"error":{"code","message"}} for an error.',
    'start and demo print it when they run.',
    'A list is {"data":[…]}, with the "cursor" of the next page (--after) where there are pages.',
    'Exit code 0: done, 1: failed, 2: wrong arguments. email-gateway --version prints the version.',
  ].join('\n')
}

/** `action`: only this one of the command, if it has one of this name. */
export function helpOf(command: Command, action?: string): string {
  const { usage, options } = actionsOf(command).includes(action ?? '') ? onlyAction(command, action!) : command
  return [forms({ usage }), optionLines({ ...options, json: JSON_OPTION }), ...(command.notes ?? [])].join('\n\n')
}

/** The second word of each form, where it is one: `dlq replay ID…`. */
const actionsOf = ({ usage }: Command) => [
  ...new Set(usage.map(([form]) => form.split(' ')[1] ?? '').filter(word => /^[a-z-]+$/.test(word))),
]

/** An option whose help begins with other actions, such as `list and show: …`, belongs to these. */
function onlyAction(command: Command, action: string): Pick<Command, 'usage' | 'options'> {
  const actions = actionsOf(command)
  const isOf = ({ help, actions: own }: OptionSpec) => {
    if (own) return own.includes(action)
    const named = help
      .split('; ')
      .flatMap(part => /^([a-z -]+): /.exec(part)?.[1]?.split(' and ') ?? [])
      .filter(name => actions.includes(name))
    return named.length === 0 || named.includes(action)
  }
  return {
    usage: command.usage.filter(([form]) => form.split(' ')[1] === action),
    options: Object.fromEntries(Object.entries(command.options).filter(([, option]) => isOf(option))),
  }
}

/** Printed after wrong arguments. */
export function usageOf(name: string, command: Command): string {
  return `${forms(command)}\n\nMore: email-gateway help ${name}`
}

function forms({ usage }: Pick<Command, 'usage'>): string {
  return usage.map(([form, what]) => `email-gateway ${form}\n${INDENT}${INDENT}${what}`).join('\n')
}

function optionLines(options: Command['options']): string {
  const all = Object.entries(options).map(([name, option]) => ({
    flag: option.type === 'string' ? `--${name} ${option.value}` : `--${name}`,
    help: option.help,
  }))
  const width = Math.max(...all.map(({ flag }) => flag.length))
  return ['Options', ...all.map(({ flag, help }) => `${INDENT}${flag.padEnd(width)}  ${help}`)].join('\n')
}
