import { z } from 'zod'
import { parseBareAddress } from '../platform/text/addresses.ts'
import { hashEmail } from '../platform/text/hashing.ts'
import { SUPPRESSION_REASONS } from './rules.ts'

export const SUPPRESSION_LIMITS = { PAGE: 200, EXPIRES_IN_DAYS: 36_500 } as const

const reason = z.enum(SUPPRESSION_REASONS)
const instant = z.iso.datetime()

export const addressSchema = z.string().max(320)

export type HashedAddress = { ok: true; emailHash: string } | { ok: false; problem: { code: string; message: string } }

export function hashOfAddress(address: string): HashedAddress {
  const parsed = parseBareAddress(address)
  return parsed.ok ? { ok: true, emailHash: hashEmail(parsed.value.normalised) } : parsed
}

export const suppressionCheckSchema = z
  .union([
    z.object({ suppressed: z.literal(false) }),
    z.object({ suppressed: z.literal(true), reason, addedAt: instant, expiresAt: instant.nullable() }),
  ])
  .meta({ id: 'SuppressionCheck' })

const entry = {
  id: z.uuid(),
  companyId: z.uuid().optional().describe('Only on the list of one company'),
  emailHash: z.string(),
  reason,
  addedAt: instant,
  expiresAt: instant.nullable().describe('null: never'),
  metadata: z.record(z.string(), z.unknown()),
}

export const suppressionPageSchema = z
  .object({ data: z.array(z.object(entry)), cursor: z.string().nullable(), hasMore: z.boolean() })
  .meta({ id: 'SuppressionPage' })

const auditEntrySchema = z.object({
  action: z.enum(['ADDED', 'REMOVED', 'EXPIRED']),
  performedBy: z.string().describe('system, a company, an administrator, or cli:<user>'),
  performedAt: instant,
  reason,
  justification: z.string().optional(),
})

export const suppressionDetailsSchema = z
  .object({ ...entry, updatedAt: instant, auditLog: z.array(auditEntrySchema).describe('The last hundred') })
  .meta({ id: 'SuppressionDetails' })

export const suppressionStatsSchema = z
  .object({
    active: z.object({ total: z.int(), HARD_BOUNCE: z.int(), COMPLAINT: z.int(), MANUAL: z.int() }),
    last24Hours: z.object({
      requests: z.int(),
      blocked: z.int(),
      hitRate: z.number().describe('blocked ÷ requests × 100'),
    }),
    growth: z
      .array(z.object({ day: z.iso.date(), added: z.int(), removed: z.int(), expired: z.int(), net: z.int() }))
      .describe('The last 30 days (UTC), oldest first'),
  })
  .meta({ id: 'SuppressionStats' })

const pastEntrySchema = z.object({
  ...auditEntrySchema.shape,
  emailHash: z.string(),
  companyId: z.uuid().nullable().describe('null: the global list'),
  metadata: z.record(z.string(), z.unknown()),
})

export const suppressionHistorySchema = z
  .object({
    emailHash: z.string(),
    entries: z.array(z.object({ ...entry, updatedAt: instant })).describe('On all lists, the global one first'),
    auditLog: z.array(pastEntrySchema).describe('The last hundred changes on all lists, newest first'),
  })
  .meta({ id: 'SuppressionHistory' })

export const endedSuppressionsSchema = z
  .object({ data: z.array(pastEntrySchema), cursor: z.string().nullable(), hasMore: z.boolean() })
  .meta({ id: 'EndedSuppressions' })

/** `companyId` null: on the global list. */
export type SuppressionRow = Omit<z.output<typeof suppressionDetailsSchema>, 'companyId' | 'auditLog'> & {
  companyId: string | null
}
export type SuppressionAuditEntry = z.output<typeof auditEntrySchema>
export type PastSuppression = z.output<typeof pastEntrySchema>
export type SuppressionStats = z.output<typeof suppressionStatsSchema>
