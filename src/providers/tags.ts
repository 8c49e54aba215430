import type { OutgoingMessage } from './provider.ts'

export type ProviderTag = { name: string; value: string }

/** SES and Resend both allow ASCII letters, digits, _ and -, at most 256 characters. */
const MAX_CHARS = 256
/** SES allows 50; Resend documents no limit. */
const MAX_TAGS = 50

/**
 * The provider returns these tags in its events, which links an event to its attempt. A company's tag `campaign:spring` becomes
 * that pair, `welcome` becomes `welcome=true`; the gateway's own tags cannot be replaced.
 */
export function providerTags({ outboxId, attemptId, tags }: OutgoingMessage): ProviderTag[] {
  const named = new Map([
    ['outbox_id', outboxId],
    ['attempt_id', attemptId],
  ])
  for (const tag of tags) {
    const [, name = tag, value = 'true'] = /^([^:=]+)[:=](.+)$/s.exec(tag) ?? []
    const key = plain(name)
    if (key && !named.has(key)) named.set(key, plain(value) || 'true')
  }
  return [...named].slice(0, MAX_TAGS).map(([name, value]) => ({ name, value }))
}

/** `Promoção de março` → `Promocao_de_marco`. */
function plain(text: string): string {
  const ascii = text.normalize('NFKD').replace(/\p{M}/gu, '')
  return ascii
    .trim()
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .slice(0, MAX_CHARS)
}
