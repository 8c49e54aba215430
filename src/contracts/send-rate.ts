/** The rate of the SES sandbox, used until the quota of the account is known. */
const DEFAULT_SES_RATE = 1

/**
 * Recipients per second for a provider that does not throttle; null: no limit. For SES the setting overrides the quota of the account.
 * For others the rate learned from responses is a hard limit, so the lower one counts.
 */
export function baseRate(name: string, configured: number | null, learned: number | null): number | null {
  if (name === 'capture') return null
  if (name.startsWith('ses')) return configured ?? learned ?? DEFAULT_SES_RATE
  return configured !== null && learned !== null ? Math.min(configured, learned) : (configured ?? learned)
}
