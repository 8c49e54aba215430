import { createHmac, timingSafeEqual } from 'node:crypto'

export type Download = { outboxId: string; ordinal: number; expiresAtSeconds: number }

/** Whoever has the link may download this one file, until it expires: it carries no API key. */
export function signDownload(download: Download, pepper: string): string {
  return digest(download, pepper).toString('base64url')
}

export function mayDownload(download: Download, signature: string, pepper: string, now: Date): boolean {
  const given = Buffer.from(signature, 'base64url')
  const expected = digest(download, pepper)
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false
  return download.expiresAtSeconds * 1000 > now.getTime()
}

function digest({ outboxId, ordinal, expiresAtSeconds }: Download, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(`attachment ${outboxId} ${ordinal} ${expiresAtSeconds}`).digest()
}
