import { z } from 'zod'
import { DUE_SINCE } from '../outbox/claim.ts'
import { literal, type Queryable, sql } from '../platform/postgres/query.ts'

/** Up to this many ready e-mails of a company are counted. */
const MAX_COUNTED = 1_000

type CompanyQueue = { companyId: string; ready: number; oldestWaitingSeconds: number | null }

/**
 * What waits of each company that has something waiting. The oldest is looked for at the head of each priority: two or three index
 * probes per company instead of reading its whole backlog.
 */
export async function listQueues(db: Queryable): Promise<CompanyQueue[]> {
  return sql<CompanyQueue>(db, 'list-company-queues')`
    select c.company_id, r.ready, extract(epoch from now() - w.due_at)::float8 as "oldestWaitingSeconds"
     from companies c
     cross join lateral (select count(*)::int as ready from (
       select from email_ready e where e.company_id = c.company_id limit ${literal(MAX_COUNTED)}) e) r
     left join lateral (
       select min(${DUE_SINCE}) as due_at from generate_series(1, 10) as p(priority)
       cross join lateral (select e.outbox_id from email_ready e
         where e.company_id = c.company_id and e.priority = p.priority order by e.outbox_id limit 1) head
       join email_outbox o on o.outbox_id = head.outbox_id) w on true
     where r.ready > 0`
}

/** Attempts that are read at most, so that the query stays cheap on a gateway that sends thousands a second. */
const MAX_ATTEMPTS = 100_000

type Served = { companyId: string; attempts: number }

/** How many attempts each company got in the last seconds. Beyond MAX_ATTEMPTS it is a sample from the beginning of that time. */
export async function listServed(db: Queryable, seconds: number): Promise<Served[]> {
  return sql<Served>(db, 'list-companies-served')`
    select company_id, count(*)::int as attempts from (
       select company_id from email_events
       where created_at > now() - ${seconds} * interval '1 second' and type = 'SENT_ATTEMPT' limit ${literal(MAX_ATTEMPTS)}) e
     group by company_id`
}

/** The company that was served last. null: none was, or it is gone. */
export async function readLastServed(db: Queryable): Promise<string | null> {
  const [row] = await sql<{ companyId: string }>(db, 'read-last-served')`
    select c.company_id from fair_cursor f join companies c using (company_id)`
  return row?.companyId ?? null
}

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
