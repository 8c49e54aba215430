import type { CapturedRow } from '../db/capture-inbox.ts'

/**
 * No script anywhere. The preview is a sandboxed frame without permissions; it inherits this policy, so that a
 * captured message can neither run nor load anything.
 */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function inboxPage(rows: CapturedRow[]): string {
  const list = rows.map(inboxRow).join('')
  const empty = '<tr><td colspan="4" class="quiet">Nothing captured yet. Send an e-mail and reload.</td></tr>'
  return layout(
    'Inbox',
    `<h1>Captured e-mails</h1><p class="quiet">The newest ${rows.length}. Nothing of this has left the machine.</p>
    <table><thead><tr><th>When</th><th>To</th><th>Subject</th><th>From</th></tr></thead><tbody>${list || empty}</tbody></table>`,
  )
}

function inboxRow({ messageId, capturedAt, message }: CapturedRow): string {
  const link = `/admin/inbox/${encodeURIComponent(messageId)}`
  return `<tr><td><time>${when(capturedAt)}</time></td><td>${escapeHtml(message.to.join(', '))}</td>
    <td><a href="${link}">${escapeHtml(message.subject)}</a></td><td>${escapeHtml(message.from)}</td></tr>`
}

export function messagePage({ messageId, outboxId, capturedAt, message }: CapturedRow): string {
  const facts: [string, string][] = [
    ['From', message.from],
    ['To', message.to.join(', ')],
    ['Cc', message.cc.join(', ')],
    ['Bcc', message.bcc.join(', ')],
    ['Reply-To', message.replyTo.join(', ')],
    ['Captured', when(capturedAt)],
    ['E-mail', outboxId],
    ['Message', messageId],
    ...Object.entries(message.headers),
    ...message.attachments.map((file): [string, string] => [
      'Attachment',
      `${file.filename} (${file.contentType}, ${file.bytes} bytes)`,
    ]),
  ]
  const list = facts
    .filter(([, value]) => value)
    .map(([name, value]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`)
  const html = message.html
    ? `<h2>HTML</h2><iframe sandbox title="HTML part" srcdoc="${escapeHtml(message.html)}"></iframe>`
    : ''
  return layout(
    message.subject,
    `<p><a href="/admin/inbox">← Inbox</a></p><h1>${escapeHtml(message.subject)}</h1><dl>${list.join('')}</dl>${html}
    <h2>Text</h2><pre>${escapeHtml(message.text ?? '')}</pre>`,
  )
}

const when = (date: Date) => date.toISOString().replace('T', ' ').slice(0, 19)

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}

function layout(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Email Gateway</title><style>
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent) }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .45rem .6rem; border-bottom: 1px solid var(--line) }
h1 { font-size: 1.4rem; margin: .5rem 0 } h2 { font-size: 1rem; margin: 1.5rem 0 .5rem } .quiet, th { opacity: .7 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem } dt { opacity: .7 } dd { margin: 0; overflow-wrap: anywhere }
iframe { width: 100%; height: 28rem; border: 1px solid var(--line); border-radius: 6px; background: #fff }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line); border-radius: 6px; padding: .8rem }
</style></head><body>${body}</body></html>`
}
