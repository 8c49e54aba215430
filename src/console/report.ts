import { inspect } from 'node:util'
import { type Answer, CommandFailed, UsageError } from './command.ts'
import { visibleJson, visibleLine, visibleText } from './output.ts'

export function printAnswer(answer: Answer, json: boolean): number {
  if (json) console.log(visibleJson(answer.json))
  else if (answer.lines.length > 0) console.log(answer.lines.map(visibleLine).join('\n'))
  if (answer.warning) console.error(visibleLine(answer.warning))
  return answer.exitCode ?? 0
}

/** Returns the exit code. `usage` is printed after wrong arguments. */
export async function printFailure(error: unknown, json: boolean, usage: string): Promise<number> {
  const { code, message, exitCode } = await failureOf(error)
  if (json) console.log(visibleJson({ error: { code, message } }))
  else if (code !== BUG) console.error(visibleText(exitCode === 2 ? `${message}\n\n${usage}` : message))
  // The stack is printed for bugs only.
  if (code === BUG) console.error(visibleText(inspect(error)))
  return exitCode
}

const BUG = 'INTERNAL_ERROR'

async function failureOf(error: unknown): Promise<{ code: string; message: string; exitCode: 1 | 2 }> {
  if (error instanceof UsageError) return { code: 'USAGE', message: sentence(error.message), exitCode: 2 }
  if (error instanceof CommandFailed) return { code: error.code, message: error.message, exitCode: 1 }
  // Loaded here: wrong arguments need no database.
  const { isBadSetting, privilegeSentence, sentenceFor } = await import('./errors.ts')
  const { Problem, problemBody } = await import('../web/problem.ts')
  // Of a route that the command called.
  if (error instanceof Problem)
    return { code: error.code, message: sentence(problemBody(error, '').message), exitCode: 1 }
  if (isBadSetting(error)) return { code: 'BAD_SETTING', message: error.message, exitCode: 1 }
  const lacking = privilegeSentence(error)
  if (lacking !== null) return { code: 'INSUFFICIENT_PRIVILEGE', message: lacking, exitCode: 1 }
  const known = sentenceFor(error)
  if (known !== null) return { code: 'UNAVAILABLE', message: known, exitCode: 1 }
  return { code: BUG, message: error instanceof Error ? error.message : String(error), exitCode: 1 }
}

const sentence = (text: string) => (/[.?!]$/.test(text) ? text : `${text}.`)
