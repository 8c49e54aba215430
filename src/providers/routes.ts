import type pg from 'pg'
import { z } from 'zod'
import { writeAudit } from '../audit/audit.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { inTransaction, literal, type Queryable, sql } from '../platform/postgres/query.ts'
import { performedBy } from '../web/access.ts'
import { Problem } from '../web/problem.ts'
import { route } from '../web/route.ts'
import { listProviders, type ProviderRow } from './state.ts'
import { baseRate } from './table.ts'
import { rateAfter } from './throttle.ts'

export type ProviderRouteDeps = {
  db: Database
  /** EMAIL_PROVIDER, in its order. */
  providers: string[]
  /** SEND_RATE_PER_SECOND. */
  sendRate: number | null
}

export function providerRoutes({ db, providers, sendRate }: ProviderRouteDeps) {
  return {
    list: route(
      {
        method: 'GET',
        path: '/admin/providers',
        access: { admin: 'viewer' },
        summary: 'The providers: who is parked and why, their rates, and their errors by code',
        query: listQuery,
        response: z.object({ data: z.array(providerSchema), hours: z.int() }),
      },
      async ({ query: { hours } }) => {
        const [rows, activity] = await Promise.all([listProviders(db.pool, null), readProviderActivity(db.pool, hours)])
        const nowMs = db.clock.nowMs()
        const data = inOrder(rows, providers).map(row => {
          const used = activity.find(({ name }) => name === row.name)
          return toView(row, used, { configured: providers.includes(row.name), sendRate, nowMs })
        })
        return { data, hours }
      },
    ),

    probe: route(
      {
        method: 'POST',
        path: '/admin/providers/:name/probe',
        access: { admin: 'support' },
        summary: 'Try a parked provider now: the next e-mail is sent as a probe',
        params: z.object({ name: z.string().min(1).max(100) }),
        response: z.object({ name: z.string(), reasonCode: z.string().describe('Why it was parked') }),
        refusals: [409],
      },
      async ({ params: { name } }, { principal }) => {
        const [row] = name.includes('\0') ? [] : await listProviders(db.pool, [name])
        if (!row) throw new Problem('NOT_FOUND')
        const reasonCode = await requestProbe(db.pool, name, performedBy(principal))
        if (reasonCode === null) throw new Problem('PROVIDER_NOT_PARKED')
        return { name, reasonCode }
      },
    ),
  }
}

const instant = z.iso.datetime().nullable()
const providerSchema = z
  .object({
    name: z.string(),
    configured: z.boolean().describe('It is in EMAIL_PROVIDER now'),
    state: z.enum(['healthy', 'slowed', 'parked']),
    parkedAt: instant,
    reasonCode: z.string().nullable(),
    reason: z.string().nullable(),
    failedProbes: z.int(),
    nextProbeAt: instant.describe('From then on, the next e-mail is sent as a probe'),
    sentPerSecond: z.number().describe('E-mails, over the last minute'),
    allowedPerSecond: z
      .number()
      .nullable()
      .describe('Recipients, now: the quota, or less while it throttles; null: no limit'),
    quotaPerSecond: z.number().nullable().describe('Recipients, by the setting or the account; null: no limit'),
    slowedAt: instant,
    inFlight: z.int(),
    lastSentAt: instant,
    errors: z.array(z.object({ code: z.string(), count: z.int(), lastAt: z.iso.datetime() })).describe('Most first'),
  })
  .meta({ id: 'ProviderState' })
type ProviderView = z.output<typeof providerSchema>

const listQuery = z.object({
  hours: z.coerce.number().int().min(1).max(168).default(24).describe('How far back errors are counted'),
})

/** As they are asked: in the order of EMAIL_PROVIDER; then those that are no longer configured. */
function inOrder(rows: ProviderRow[], providers: string[]): ProviderRow[] {
  const place = ({ name }: ProviderRow) => (providers.includes(name) ? providers.indexOf(name) : providers.length)
  return rows.toSorted((one, other) => place(one) - place(other))
}

type Now = { configured: boolean; sendRate: number | null; nowMs: number }

function toView(row: ProviderRow, used: ProviderActivity | undefined, now: Now): ProviderView {
  const { name, slowFrom, slowTo, slowedAgoMs, probeInMs } = row
  const quota = baseRate(name, now.sendRate, row.ratePerSecond)
  const slowed = slowedAgoMs === null ? null : rateAfter({ from: slowFrom!, to: slowTo!, agoMs: slowedAgoMs })
  const isSlowed = slowed !== null && (quota === null || slowed < quota)
  const ago = (ms: number) => new Date(now.nowMs - ms).toISOString()
  return {
    name,
    configured: now.configured,
    state: row.state === 'open' ? 'parked' : isSlowed ? 'slowed' : 'healthy',
    parkedAt: row.openedAt?.toISOString() ?? null,
    reasonCode: row.reasonCode,
    reason: row.reason,
    failedProbes: row.probes,
    nextProbeAt: probeInMs === null ? null : ago(-probeInMs),
    sentPerSecond: (used?.sentLastMinute ?? 0) / 60,
    allowedPerSecond: isSlowed ? slowed : quota,
    quotaPerSecond: quota,
    slowedAt: isSlowed ? ago(slowedAgoMs!) : null,
    inFlight: used?.inFlight ?? 0,
    lastSentAt: used?.lastSentAt?.toISOString() ?? null,
    errors: (used?.errors ?? []).map(one => ({ ...one, lastAt: one.lastAt.toISOString() })),
  }
}

type ProviderErrors = { code: string; count: number; lastAt: Date }
type ProviderActivity = {
  name: string
  /** E-mails that it took in the last minute. */
  sentLastMinute: number
  lastSentAt: Date | null
  inFlight: number
  errors: ProviderErrors[]
}

/** Only so many of the newest failures and e-mails are looked at, so that the answer takes the same time whatever there is. */
const MAX_FAILURES = 5_000
const MAX_EMAILS = 2_000

/** Every provider that was used lately, or failed in the last `hours`. */
async function readProviderActivity(db: Queryable, hours: number): Promise<ProviderActivity[]> {
  const rows = await sql<ProviderActivity>(db, 'read-provider-activity')`
    with failures as (
       select outbox_id, created_at, coalesce(metadata ->> 'errorCode', type) as code from email_events
       where type in ('RETRY_SCHEDULED', 'REJECTED', 'FAILED', 'UNKNOWN') and created_at > now() - ${hours} * interval '1 hour'
       order by created_at desc limit ${literal(MAX_FAILURES)}
     ), codes as (
       -- By the attempt that failed: a later one may be at another provider.
       select a.name, f.code, count(*)::int as count, max(f.created_at) as last_at
       from failures f cross join lateral (
         select a.metadata ->> 'provider' as name from email_events a
         where a.outbox_id = f.outbox_id and a.type = 'SENT_ATTEMPT' and a.created_at <= f.created_at order by a.created_at desc limit 1) a
       group by 1, 2
     ), errors as (
       select name, json_agg(json_build_object('code', code, 'count', count, 'lastAt', last_at) order by count desc, code) as errors
       from codes group by 1
     ), minute as (
       select o.provider as name, count(*)::int as sent, max(e.created_at) as last_at
       from email_events e join email_outbox o on o.outbox_id = e.outbox_id
       where e.type = 'SENT' and e.created_at > now() - interval '1 minute' group by 1
     ), newest as (
       select provider as name, max(sent_at) as last_at
       from (select provider, sent_at from email_outbox order by outbox_id desc limit ${literal(MAX_EMAILS)}) o group by 1
     ), flying as (
       select o.provider as name, count(*)::int as in_flight
       from leases l cross join lateral unnest(l.outbox_ids) id join email_outbox o on o.outbox_id = id and o.status = 'PROCESSING'
       group by 1
     )
     select name, coalesce(m.sent, 0) as "sentLastMinute", greatest(m.last_at, n.last_at) as "lastSentAt",
       coalesce(f.in_flight, 0) as "inFlight", coalesce(e.errors, '[]') as errors
     from errors e full join minute m using (name) full join newest n using (name) full join flying f using (name)
     where name is not null`
  return rows.map(row => ({ ...row, errors: row.errors.map(one => ({ ...one, lastAt: new Date(one.lastAt) })) }))
}

/**
 * The next e-mail of any worker probes the parked provider: each reads the time within a second. Returns the reason why it was parked;
 * null: it is not.
 */
async function requestProbe(pool: pg.Pool, name: string, performedBy: string): Promise<string | null> {
  return inTransaction(pool, async tx => {
    const [parked] = await sql<{ reasonCode: string; failedProbes: number; probeAt: string }>(
      tx,
      'lock-parked-provider',
    )`
      select reason_code, probes as "failedProbes", to_json(probe_at) as "probeAt"
       from providers where name = ${name} and state = 'open' for update`
    if (!parked) return null
    const [asked] = await sql<{ probeAt: string }>(tx, 'request-probe')`
      update providers set probe_at = least(probe_at, now()) where name = ${name} returning to_json(probe_at) as "probeAt"`
    await writeAudit(tx, {
      performedBy,
      action: 'PROVIDER_PROBE_REQUESTED',
      subjectType: 'provider',
      subjectId: name,
      before: parked,
      after: asked!,
    })
    return parked.reasonCode
  })
}
