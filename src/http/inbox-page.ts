import type { CapturedRow } from '../db/capture-inbox.ts'
import { escapeHtml, formatTime, layout } from './page.ts'

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
  return `<tr><td><time>${formatTime(capturedAt)}</time></td><td>${escapeHtml(message.to.join(', '))}</td>
    <td><a href="${link}">${escapeHtml(message.subject)}</a></td><td>${escapeHtml(message.from)}</td></tr>`
}

export function messagePage({ messageId, outboxId, capturedAt, message }: CapturedRow): string {
  const facts: [string, string][] = [
    ['From', message.from],
    ['To', message.to.join(', ')],
    ['Cc', message.cc.join(', ')],
    ['Bcc', message.bcc.join(', ')],
    ['Reply-To', message.replyTo.join(', ')],
    ['Captured', formatTime(capturedAt)],
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
