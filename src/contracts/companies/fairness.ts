import { z } from 'zod'

const turnSchema = z
  .object({
    companyId: z.uuid(),
    name: z.string(),
    weight: z.int(),
    ratePerSecond: z.number().nullable(),
    paused: z.boolean(),
    ready: z.int().describe('E-mails that could be sent now; counted up to 1000'),
    oldestWaitingSeconds: z.number().nullable().describe('How long its oldest ready e-mail has been due'),
    attempts: z.int().describe('In the last `windowSeconds`'),
    share: z.number().describe('Of all attempts in that time, 0 to 1'),
    fairShare: z
      .number()
      .describe('What its weight would give it among those that were served or wait, 0 to 1; 0 when paused'),
  })
  .meta({ id: 'CompanyTurn' })

export const fairnessSchema = z
  .object({
    at: z.iso.datetime(),
    windowSeconds: z.int(),
    attempts: z.int().describe('Of all companies in that time'),
    lastServed: z.uuid().nullable().describe('The company whose turn was last'),
    competing: z.int().describe('How many companies were served or wait'),
    data: z.array(turnSchema).describe('Who waits longest first, then who was served most'),
  })
  .meta({ id: 'Fairness' })

type Turn = z.infer<typeof turnSchema>
export type CompanyTurn = Omit<Turn, 'share' | 'fairShare'>

/** The picture of who is served how often, and who waits how long. `always`: a company that is part of it in any case. */
export function describeTurns(companies: readonly CompanyTurn[], always: string | null) {
  const competing = companies.filter(one => one.ready > 0 || one.attempts > 0)
  const attempts = competing.reduce((sum, one) => sum + one.attempts, 0)
  const weights = competing.reduce((sum, one) => sum + (one.paused ? 0 : one.weight), 0)
  const shown = companies.filter(one => competing.includes(one) || one.companyId === always)
  const data = shown.map((one): Turn => {
    const takesPart = !one.paused && (one.ready > 0 || one.attempts > 0)
    return {
      ...one,
      share: attempts === 0 ? 0 : one.attempts / attempts,
      fairShare: takesPart ? one.weight / weights : 0,
    }
  })
  return { attempts, competing: competing.length, data: data.sort(byNeed) }
}

function byNeed(one: Turn, other: Turn): number {
  const [waits, otherWaits] = [one.oldestWaitingSeconds ?? -1, other.oldestWaitingSeconds ?? -1]
  return otherWaits - waits || other.attempts - one.attempts || one.name.localeCompare(other.name)
}
