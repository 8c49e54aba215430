import type { makeProvider } from '../compose/provider-clients.ts'
import type { Settings } from '../settings.ts'
import type { Check } from './doctor-check.ts'

const PROBE_MS = 20_000

/** Connects to every provider in use and authenticates, with the credentials of this shell. Sends nothing. */
export async function probeChecks(providers: string[], config: Settings): Promise<Check[]> {
  const real = providers.filter(entry => entry !== 'capture')
  if (real.length === 0) return [{ name: 'probe', state: 'ok', detail: 'capture needs no connection' }]
  const { makeProvider: make } = await import('../compose/provider-clients.ts')
  return Promise.all(real.map(entry => probe(entry, config, make)))
}

async function probe(entry: string, config: Settings, make: typeof makeProvider): Promise<Check> {
  const name = 'probe'
  const setting = missingSetting(entry, config)
  if (setting) return { name, state: 'warning', detail: `${entry} is not tried: ${setting} is not set in this shell` }
  const provider = await make(entry, config)
  try {
    const found = await provider.probe!(AbortSignal.timeout(PROBE_MS))
    return { name, state: 'ok', detail: `${entry}: ${found}` }
  } catch (error) {
    const { name: kind, message } = error as Error
    const why = kind === 'TimeoutError' || kind === 'AbortError' ? `no answer within ${PROBE_MS / 1000} s` : message
    return { name, state: 'failed', detail: `${entry}: ${why || kind}` }
  } finally {
    await provider.close()
  }
}

function missingSetting(entry: string, config: Settings): string | null {
  if (entry === 'smtp') return config.SMTP_URL ? null : 'SMTP_URL'
  if (entry === 'resend') return config.RESEND_API_KEY ? null : 'RESEND_API_KEY'
  return entry.includes(':') || config.AWS_REGION ? null : 'AWS_REGION'
}
