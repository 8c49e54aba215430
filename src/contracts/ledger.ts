import { z } from 'zod'

/** What does not agree, and what it means. */
export const LEDGER_FAULTS = {
  ROW_MISSING: 'its events are there, its row in email_outbox is not',
  EVENT_MISSING: 'its row is there, its QUEUED event is not',
  END_MISSING: 'its row says that it has ended, and no event says so',
  VANISHED: 'counted as accepted before; rows and events are gone, so their ids are not known',
  DAY_MISSING: 'the tables of the whole day are gone, and retention did not drop them',
} as const
export type LedgerFaultKind = keyof typeof LEDGER_FAULTS

const dayRow = z.object({
  day: z.iso.date(),
  companyId: z.uuid(),
  companyName: z.string().nullable(),
  accepted: z.int().describe('By the event log'),
  ended: z.int().describe('By the rows: sent, or ended in another way'),
  waiting: z.int(),
  unknown: z.int(),
  imbalance: z.int().describe('accepted - ended - waiting - unknown; 0 is right'),
  closed: z.boolean().describe('Every e-mail of the day has ended, and the sums are kept'),
})

const faultRow = z.object({
  kind: z.enum(Object.keys(LEDGER_FAULTS) as [LedgerFaultKind, ...LedgerFaultKind[]]),
  day: z.iso.date(),
  outboxId: z.uuid().nullable().describe('null: not known'),
  companyId: z.uuid().nullable(),
  companyName: z.string().nullable(),
  emails: z.int(),
  foundAt: z.iso.datetime(),
  acknowledged: z
    .object({ at: z.iso.datetime(), by: z.string(), reason: z.string() })
    .nullable()
    .describe('Who has said that it is known, and why it stays; null: nobody'),
})

/** What one call has acknowledged. */
export const acknowledgedSchema = z
  .object({
    acknowledged: z.array(faultRow.pick({ kind: true, day: true, outboxId: true, companyId: true, emails: true })),
  })
  .meta({ id: 'LedgerAcknowledged' })
export type AcknowledgedFault = z.infer<typeof acknowledgedSchema>['acknowledged'][number]

export const ledgerSchema = z
  .object({
    since: z.iso.date(),
    until: z.iso.date(),
    countedAt: z.iso
      .datetime()
      .nullable()
      .describe(
        'The figures are of this time or later: the oldest count among the hours that are not final; null: all are',
      ),
    uncountedHours: z.int().describe('Hours that were never counted, or are to be counted again'),
    balanced: z.boolean().describe('Nothing differs but what is acknowledged'),
    acknowledgedEmails: z.int().describe('E-mails of the faults that are acknowledged'),
    days: z.array(dayRow).describe('The newest day first; at most 5 000'),
    faults: z
      .array(faultRow)
      .describe('At most 1 000 of the range: first those that nobody has acknowledged, the newest day first'),
  })
  .meta({ id: 'Ledger' })
export type Ledger = z.infer<typeof ledgerSchema>
