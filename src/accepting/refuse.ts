import type { HtmlProblem } from '../contracts/html/rules.ts'
import { type FieldProblem, type Refusal, summarise } from '../contracts/refusal.ts'
import { checkSchedule } from '../contracts/send-body.ts'
import type { SenderSettings } from '../contracts/sender.ts'
import type { Caller } from './caller.ts'
import type { BodyWithContent } from './content.ts'
import { senderOf } from './sender.ts'

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
    rule: code,
  }))
  const late = checkSchedule(body.scheduledAt, now)
  if (late) problems.push({ path: 'scheduledAt', ...late })
  const from = refuseSender(body.from, caller, sender)
  if (problems.length > 0) return summarise([...problems, ...from])
  return from.length > 0 ? { code: 'FROM_NOT_ALLOWED', errors: from } : null
}

function refuseSender(from: BodyWithContent['from'], caller: Caller, sender: SenderSettings): FieldProblem[] {
  if (senderOf(from, caller, sender)) return []
  const message = from ? domainNotAllowed(caller.fromDomains) : NO_SENDER
  return [{ path: 'from', code: 'FROM_NOT_ALLOWED', message }]
}

const NO_SENDER =
  'is missing, the company has no default sender, and EMAIL_FROM is not one of its sender domains; an administrator sets one with: email-gateway company update NAME --from ADDRESS'

/** An answer stays short, and SMTP allows 512 characters. */
const MAX_NAMED = 5

function domainNotAllowed(domains: readonly string[]): string {
  const more = domains.length > MAX_NAMED ? ` and ${domains.length - MAX_NAMED} more` : ''
  const which = domains.length === 0 ? 'it has none' : `${domains.slice(0, MAX_NAMED).join(', ')}${more}`
  return `is not one of the sender domains of this company (${which}); an administrator sets them with: email-gateway company update NAME --from-domains A.COM,B.COM`
}
