import { programVersion } from '../version.ts'
import { hasFlag, readInput } from './arguments.ts'
import { type Answer, actionOf, type Command } from './command.ts'
import { COMMANDS } from './commands.ts'
import { UsageError } from './failures.ts'
import { actionsOf, helpOf, overview, usageOf } from './help.ts'
import { didYouMean } from './nearest.ts'
import { printAnswer, printFailure } from './report.ts'

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
    const { loadEnvFile } = await import('../config.ts')
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
