import { z } from 'zod'
import { parseFromDomain } from '../companies/settings.ts'
import type { RecordState } from '../domains/check.ts'
import type { DnsRecord } from '../domains/records.ts'

const notOffered = (what: string) => z.undefined(`is not offered: ${what}`).optional()
const only = <Value extends string | boolean>(value: Value, why: string) =>
  z.literal(value, `must be ${value}: ${why}`).optional()

/** As the SDK sends it; what the gateway does not do is refused by name. */
export const newDomainBody = z
  .strictObject({
    name: z
      .string()
      .max(253)
      .transform((text, context): string => {
        const parsed = parseFromDomain(text)
        if (parsed.ok) return parsed.value
        context.issues.push({ code: 'custom', message: parsed.problem, input: text })
        return z.NEVER
      }),
    region: z.string().max(30).optional(),
    custom_return_path: notOffered('the gateway chooses the subdomain'),
    capabilities: z
      .strictObject({
        sending: only('enabled', 'the gateway sends'),
        receiving: only('disabled', 'the gateway receives no e-mail'),
      })
      .optional(),
    open_tracking: only(false, 'the gateway tracks nothing'),
    click_tracking: only(false, 'the gateway tracks nothing'),
    tls: only('opportunistic', 'the provider decides about TLS'),
    tracking_subdomain: notOffered('the gateway tracks nothing'),
  })
  .meta({ example: { name: 'example.com' } })

export type ResendDomainFacts = { id: string; name: string; allowed: boolean; createdAt: Date; region: string }

export function toResendDomain({ id, name, allowed, createdAt, region }: ResendDomainFacts) {
  return {
    id,
    name,
    status: allowed ? ('verified' as const) : ('pending' as const),
    created_at: createdAt.toISOString(),
    region,
    capabilities: { sending: 'enabled' as const, receiving: 'disabled' as const },
    open_tracking: false,
    click_tracking: false,
  }
}

const RECORD_NAMES = { DKIM: 'DKIM', 'MAIL FROM': 'SPF', OWNERSHIP: 'Ownership', DMARC: 'DMARC' } as const
const STATUS = { found: 'verified', other: 'failed', missing: 'pending', unknown: 'temporary_failure' } as const

/** Names are in full: those of Resend are relative to the registered domain. */
export function toResendRecord({ purpose, type, name, value, priority, state }: DnsRecord & { state?: RecordState }) {
  return {
    record: RECORD_NAMES[purpose],
    name,
    type,
    ttl: 'Auto',
    status: state === undefined ? ('not_started' as const) : STATUS[state],
    value,
    ...(priority !== undefined && { priority }),
  }
}
