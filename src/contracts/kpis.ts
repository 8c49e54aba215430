import { z } from 'zod'

/** Sums over the hours of a range: what the e-mails that were accepted in it came to, each counted once. */
export type Outcomes = {
  accepted: number
  /** Delivered, or taken by the provider and not returned. */
  delivered: number
  failed: number
  /** Of those whose first attempt failed and was repeated. */
  recovered: number
  notRecovered: number
  /** From the due time to the delivery, added up over the delivered ones. */
  deliverySeconds: number
}

const kpi = (unit: string) =>
  z.object({
    value: z.number().nullable().describe(`${unit}; null: no e-mail to measure`),
    target: z.string(),
    met: z.boolean().nullable(),
  })

const kpisSchema = z.object({
  finalDeliveryRate: kpi('Delivered of all that have ended, 0 to 1'),
  meanSecondsToDelivery: kpi('Seconds'),
  recoveryRate: kpi('Delivered of those whose first attempt failed, 0 to 1'),
  finalFailureRate: kpi('Failed of all that have ended, 0 to 1'),
})
export type Kpis = z.infer<typeof kpisSchema>
export type Kpi = Kpis[keyof Kpis]

const TARGETS = {
  finalDeliveryRate: { above: 0.98, text: '> 98 %' },
  meanSecondsToDelivery: { below: 300, text: '< 5 min' },
  recoveryRate: { above: 0.9, text: '> 90 %' },
  finalFailureRate: { below: 0.02, text: '< 2 %' },
} as const satisfies Record<keyof Kpis, ({ above: number } | { below: number }) & { text: string }>

export function kpisOf({ delivered, failed, recovered, notRecovered, deliverySeconds }: Outcomes): Kpis {
  return {
    finalDeliveryRate: judge('finalDeliveryRate', share(delivered, delivered + failed)),
    meanSecondsToDelivery: judge('meanSecondsToDelivery', share(deliverySeconds, delivered)),
    recoveryRate: judge('recoveryRate', share(recovered, recovered + notRecovered)),
    finalFailureRate: judge('finalFailureRate', share(failed, delivered + failed)),
  }
}

const share = (part: number, whole: number) => (whole > 0 ? part / whole : null)

function judge(name: keyof Kpis, value: number | null): Kpi {
  const target = TARGETS[name]
  const met = value === null ? null : 'above' in target ? value > target.above : value < target.below
  return { value, target: target.text, met }
}

export const statsSchema = z
  .object({
    since: z.iso.datetime().describe('The beginning of the first hour'),
    until: z.iso.datetime(),
    countedUntil: z.iso.datetime().describe('Later events are not counted yet'),
    companyId: z.uuid().nullable().describe('null: every company'),
    emails: z.object({
      accepted: z.int(),
      delivered: z.int().describe('Delivered, or taken by the provider and not returned'),
      failed: z.int().describe('Rejected, failed, expired or bounced for good'),
      recovered: z.int().describe('Delivered after their first attempt had failed'),
      notRecovered: z.int().describe('Failed after their first attempt had failed and was repeated'),
    }),
    kpis: kpisSchema,
  })
  .meta({ id: 'Stats' })
export type Stats = z.infer<typeof statsSchema>
