import type { OutgoingMessage } from './provider.ts'

export type ProviderTag = { name: string; value: string }

/** SES and Resend agree: ASCII letters, digits, _ and -, at most 256 characters. */
const MAX_CHARS = 256
/** SES takes 50; Resend names no limit. */
const MAX_TAGS = 50

/**
 * What travels beside the message, comes back in the provider's events and leads them to the attempt. A company's tag
 * `campaign:spring` becomes the pair it looks like, `welcome` becomes `welcome=true`; ours cannot be replaced.
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
