import type { Check } from './doctor-check.ts'

export type TlsOfRelay = 'always' | 'offered' | 'never' | 'local'

const WHEN: Record<TlsOfRelay, string> = {
  always: 'is encrypted, or not sent',
  local: 'does not leave this machine',
  offered: 'is encrypted only if the relay offers it: use smtps://, or add ?requireTLS=true to SMTP_URL',
  never: 'is never encrypted: remove ignoreTLS from SMTP_URL',
}

export function relayTlsOf(tls: TlsOfRelay): Check {
  const state = tls === 'offered' || tls === 'never' ? 'warning' : 'ok'
  return { name: 'smtp', state, detail: `mail to the relay ${WHEN[tls]}` }
}

export type ResendFacts = { listed: { name: string; status: string }[] | null; wanted: Map<string, string[]> }

/** listed null: the key is for sending only, and may not read them. */
export function resendDomainChecks({ listed, wanted }: ResendFacts): Check[] {
  const name = 'domain'
  if (listed === null) return [{ name, state: 'ok', detail: 'not checked at Resend: the API key is for sending only' }]
  return [...wanted].map(([domain, companies]): Check => {
    const status = listed.find(one => one.name.toLowerCase() === domain)?.status
    const company = companies[0] === undefined ? '--company NAME' : `--company ${companies[0]}`
    if (status === 'verified') return { name, state: 'ok', detail: `${domain} is verified at Resend` }
    if (status === undefined)
      return {
        name,
        state: 'failed',
        detail: `Resend does not have ${domain}; run: email-gateway domain add ${domain} ${company}`,
      }
    return {
      name,
      state: 'failed',
      detail: `${domain} is ${status} at Resend; run: email-gateway domain check ${domain} ${company}`,
    }
  })
}
