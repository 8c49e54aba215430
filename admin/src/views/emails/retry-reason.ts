type LastError = { code: string; category: string | null } | null

/** Why an e-mail is tried again; the gateway's English sentences tell the same apart (src/emails/explain.ts). */
export function retryReason(lastError: LastError): 'failed' | 'throttled' | 'unconnected' | null {
  if (!lastError) return null
  const { code, category } = lastError
  // SMTP_RATE_LIMITED is about one recipient's domain and is an attempt like any other.
  if (category === 'QUOTA_ERROR' && code !== 'SMTP_RATE_LIMITED') return 'throttled'
  return code === 'NETWORK_ERROR' ? 'unconnected' : 'failed'
}
