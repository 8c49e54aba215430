import type { Config } from '../config.ts'
import { parseAddress } from '../contracts/addresses.ts'
import type { SenderSettings } from '../contracts/sender.ts'

export function senderSettings({
  EMAIL_FROM,
  EMAIL_PROVIDER,
}: Pick<Config, 'EMAIL_FROM' | 'EMAIL_PROVIDER'>): SenderSettings {
  const parsed = parseAddress(EMAIL_FROM)
  if (!parsed.ok) throw new Error('EMAIL_FROM was checked by config.ts')
  return { defaultFrom: parsed.value, captureOnly: EMAIL_PROVIDER.includes('capture') }
}
