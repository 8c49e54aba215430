import type { HtmlProblem } from '../contracts/html/rules.ts'
import { type FieldProblem, type Refusal, summarise } from '../contracts/refusal.ts'
import { checkSchedule } from '../contracts/send-body.ts'
import type { Caller } from './caller.ts'
import type { BodyWithContent } from './content.ts'
import { type SenderSettings, senderOf } from './sender.ts'

/** The rules that need more than the body: the time, the company, and an HTML parser. null: it may be accepted. */
export function refuseBody(
  body: BodyWithContent,
  html: HtmlProblem[],
  caller: Caller,
  sender: SenderSettings,
  now: Date,
): Refusal | null {
  const problems: FieldProblem[] = html.map(({ code, message }) => ({
    path: body.template === undefined ? 'html' : 'template',
    code: 'INVALID_TEMPLATE',
    message: `${message} (${code})`,
  }))
  const late = checkSchedule(body.scheduledAt, now)
  if (late) problems.push({ path: 'scheduledAt', code: 'INVALID_PAYLOAD', message: late })
  if (problems.length > 0) return summarise(problems)
  if (!senderOf(body.from, caller, sender)) {
    const message = body.from
      ? 'is not one of the sender domains of this company'
      : 'is missing, and EMAIL_FROM is not one of the sender domains of this company'
    return { code: 'FROM_NOT_ALLOWED', errors: [{ path: 'from', code: 'FROM_NOT_ALLOWED', message }] }
  }
  return null
}
