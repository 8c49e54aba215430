import { z } from 'zod'

const loss = z.object({
  day: z.iso.date(),
  companyId: z.uuid(),
  emails: z.int(),
  missing: z
    .array(z.uuid())
    .describe('Ids of the e-mails in no place, at most 100; those whose events are gone, too, are not among them'),
})

/** What one call has acknowledged. */
export const acknowledgedSchema = z.object({ acknowledged: z.array(loss) }).meta({ id: 'LedgerAcknowledged' })
export type AcknowledgedLoss = z.infer<typeof loss>

const dayRow = z.object({
  day: z.iso.date(),
  companyId: z.uuid(),
  companyName: z.string().nullable(),
  accepted: z.int(),
  ended: z.int().describe('Sent, or ended in another way'),
  waiting: z.int(),
  unknown: z.int(),
  imbalance: z.int().describe('accepted - ended - waiting - unknown: e-mails in no place; 0 is right'),
  missing: loss.shape.missing,
  imbalancedSince: z.iso.datetime().nullable(),
  acknowledged: z
    .object({ emails: z.int(), at: z.iso.datetime(), by: z.string(), reason: z.string() })
    .nullable()
    .describe('How many of the imbalance are known, who has said so last, and why they stay; null: none'),
})
export type LedgerDay = z.infer<typeof dayRow>

export const ledgerSchema = z
  .object({
    since: z.iso.date(),
    until: z.iso.date(),
    countedAt: z.iso
      .datetime()
      .nullable()
      .describe('The oldest count among today and the days with open e-mails; null: there are none'),
    uncountedDays: z.int().describe('Days that were never counted'),
    balanced: z.boolean().describe('No imbalance but what is acknowledged'),
    acknowledgedEmails: z.int(),
    days: z.array(dayRow).describe('The newest day first; at most 5 000, those with an imbalance before others'),
  })
  .meta({ id: 'Ledger' })
export type Ledger = z.infer<typeof ledgerSchema>
