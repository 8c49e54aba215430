import type { Schemas } from '../../api/client.ts'
import type { Email } from './queries.ts'

/** The request that would send this e-mail again, without its attachments. */
export function curlOf(email: Email, content: Schemas['AdminEmailContent'], origin: string): string {
  const recipients = (kind: 'to' | 'cc' | 'bcc') =>
    email.recipients.filter(one => one.kind === kind).flatMap(one => one.address ?? [])
  const body = {
    to: recipients('to')[0],
    ...filled({ cc: recipients('cc'), bcc: recipients('bcc'), replyTo: content.replyTo, tags: email.tags }),
    ...given({
      from: email.from,
      subject: email.subject,
      html: content.html,
      text: content.text,
      externalId: email.externalId,
    }),
    ...(Object.keys(content.headers).length > 0 && { headers: content.headers }),
  }
  return [
    `curl -X POST ${origin}/v1/email/send`,
    `  -H "X-API-Key: $API_KEY"`,
    `  -H 'Content-Type: application/json'`,
    `  -d ${quoted(JSON.stringify(body))}`,
  ].join(' \\\n')
}

const filled = (lists: Record<string, string[]>) =>
  Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0))
const given = (fields: Record<string, string | null>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

/** For a POSIX shell: nothing is special between single quotes but the quote itself. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
