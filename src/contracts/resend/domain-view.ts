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

const domainFields = {
  id: z.uuid(),
  name: z.string(),
  status: z.enum(['verified', 'pending']),
  created_at: z.iso.datetime(),
  region: z.string(),
  capabilities: z.object({ sending: z.literal('enabled'), receiving: z.literal('disabled') }),
  open_tracking: z.literal(false),
  click_tracking: z.literal(false),
}
const recordSchema = z
  .object({
    record: z.enum(['DKIM', 'SPF', 'Ownership', 'DMARC']),
    name: z.string().describe('In full'),
    type: z.enum(['CNAME', 'MX', 'TXT']),
    ttl: z.literal('Auto'),
    status: z.enum(['not_started', 'verified', 'failed', 'pending', 'temporary_failure']),
    value: z.string(),
    priority: z.int().optional(),
  })
  .meta({ id: 'ResendDomainRecord' })

const object = z.literal('domain')
/** The answers of the routes. */
export const domainAnswers = {
  created: z.object({ ...domainFields, records: z.array(recordSchema) }).meta({ id: 'ResendNewDomain' }),
  list: z
    .object({ object: z.literal('list'), has_more: z.boolean(), data: z.array(z.object(domainFields)) })
    .meta({ id: 'ResendDomainList' }),
  one: z.object({ object, ...domainFields, records: z.array(recordSchema) }).meta({ id: 'ResendDomain' }),
  checked: z.object({ object, id: z.uuid() }).meta({ id: 'ResendCheckedDomain' }),
  removed: z.object({ object, id: z.uuid(), deleted: z.literal(true) }).meta({ id: 'ResendRemovedDomain' }),
}

export type ResendDomainFacts = { id: string; name: string; allowed: boolean; createdAt: Date; region: string }

export function toResendDomain({ id, name, allowed, createdAt, region }: ResendDomainFacts) {
  return {
    id,
    name,
    status: allowed ? ('verified' as const) : ('pending' as const),
    created_at: createdAt.toISOString(),
    region,
    capabilities: { sending: 'enabled' as const, receiving: 'disabled' as const },
    open_tracking: false as const,
    click_tracking: false as const,
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
    ttl: 'Auto' as const,
    status: state === undefined ? ('not_started' as const) : STATUS[state],
    value,
    ...(priority !== undefined && { priority }),
  }
}
