import { programVersion } from '../version.ts'
import { hasFlag, readInput } from './arguments.ts'
import type { Answer, Command } from './command.ts'
import { COMMANDS } from './commands.ts'
import { UsageError } from './failures.ts'
import { helpOf, overview, usageOf } from './help.ts'
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
    if (HELP.includes(first)) return await help(name, action, json)
    const command = await commandOf(first)
    usage = usageOf(first, command)
    if (hasFlag(rest, '--help', '-h')) return await help(first, name, json)
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

async function help(name: string | undefined, action: string | undefined, json: boolean): Promise<number> {
  const isOverview = name === undefined || name === 'help'
  const text = isOverview ? overview(COMMANDS) : helpOf(await commandOf(name), action)
  return printAnswer({ json: { usage: text }, lines: text.split('\n') }, json)
}

function version(json: boolean): number {
  const found = programVersion()
  return printAnswer({ json: { version: found, node: process.versions.node }, lines: [found] }, json)
}
