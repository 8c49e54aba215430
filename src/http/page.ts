import type { FastifyReply, FastifyRequest } from 'fastify'

/** No scripts. The preview is a sandboxed frame that inherits this policy, so a captured message can neither run nor load anything. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** `onRequest` hook for URLs that answer HTML or JSON, so that caches keep the two apart. */
export async function varyByAccept(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.header('vary', 'Accept')
}

/** `Accept: text/html` gets the page, anything else JSON. */
export function wantsPage(request: FastifyRequest, reply: FastifyReply): boolean {
  reply.header('vary', 'Accept')
  return /\btext\/html\b/.test(request.headers.accept ?? '')
}

export function sendPage(reply: FastifyReply, html: string): FastifyReply {
  return reply.type('text/html; charset=utf-8').header('content-security-policy', PAGE_POLICY).send(html)
}

export const formatTime = (date: Date) => date.toISOString().replace('T', ' ').slice(0, 19)

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}

export function layout(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Email Gateway</title><style>
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent) }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .45rem .6rem; border-bottom: 1px solid var(--line) }
h1 { font-size: 1.4rem; margin: .5rem 0 } h2 { font-size: 1rem; margin: 1.5rem 0 .5rem } .quiet, th { opacity: .7 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem } dt { opacity: .7 } dd { margin: 0; overflow-wrap: anywhere }
iframe { width: 100%; height: 28rem; border: 1px solid var(--line); border-radius: 6px; background: #fff }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line); border-radius: 6px; padding: .8rem }
nav a { margin-right: 1rem } .bad { font-weight: 600; color: light-dark(#b3261e, #ffb4ab) } td.number { text-align: right; font-variant-numeric: tabular-nums }
</style></head><body><nav><a href="/admin/inbox">Inbox</a><a href="/admin/companies">Companies</a></nav>${body}</body></html>`
}
