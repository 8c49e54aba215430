import { ConfigError } from '../config.ts'
import { adminCommand } from './admin.ts'
import { type Command, CommandFailed, readInput, UsageError } from './command.ts'
import { companyCommand } from './company.ts'
import { dbCommand } from './db.ts'
import { dlqCommand } from './dlq.ts'
import { doctorCommand } from './doctor.ts'
import { emailCommand } from './email.ts'
import { sentenceFor } from './errors.ts'
import { keyCommand } from './key.ts'
import { migrateCommand } from './migrate.ts'
import { sendCommand } from './send.ts'
import { startCommand } from './start.ts'
import { suppressionCommand } from './suppression.ts'

const COMMANDS: Record<string, Command> = {
  start: startCommand,
  migrate: migrateCommand,
  company: companyCommand,
  key: keyCommand,
  admin: adminCommand,
  send: sendCommand,
  email: emailCommand,
  dlq: dlqCommand,
  suppression: suppressionCommand,
  doctor: doctorCommand,
  db: dbCommand,
}

process.exitCode = await main(process.argv.slice(2))

async function main([name = 'help', ...rest]: string[]): Promise<number> {
  if (name === 'help' || name === '--help' || name === '-h') return help(overview(), rest.includes('--json'))
  const command = COMMANDS[name]
  if (!command) return usageProblem(`There is no command "${name}".`, overview())
  if (rest.includes('--help')) return help(command.usage, rest.includes('--json'))
  try {
    const input = readInput(rest, command)
    const answer = await command.run(input)
    if (answer) console.log(input.json ? JSON.stringify(answer.json) : answer.lines.join('\n'))
    return answer?.exitCode ?? 0
  } catch (error) {
    if (error instanceof UsageError) return usageProblem(`${error.message}.`, command.usage)
    return failure(error)
  }
}

function help(usage: string, json: boolean): number {
  console.log(json ? JSON.stringify({ usage }) : usage)
  return 0
}

function usageProblem(sentence: string, usage: string): number {
  console.error(`${sentence}\n\n${usage}`)
  return 2
}

/** People get a sentence; only what we did not foresee brings its stack. */
function failure(error: unknown): number {
  const expected = error instanceof CommandFailed || error instanceof ConfigError
  console.error(expected ? (error as Error).message : (sentenceFor(error) ?? error))
  return 1
}

function overview(): string {
  const lines = Object.values(COMMANDS).map(command => command.usage)
  return `Usage: email-gateway <command> [--json]\n\n${lines.join('\n')}`
}
