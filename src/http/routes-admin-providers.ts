import { z } from 'zod'
import { baseRate } from '../contracts/send-rate.ts'
import { rateAfter } from '../contracts/slowdown.ts'
import { type ProviderActivity, readProviderActivity, requestProbe } from '../db/provider-activity.ts'
import { listProviders, type ProviderRow } from '../db/providers.ts'
import type { App } from './app.ts'
import { problemAnswers } from './openapi.ts'
import { Problem } from './problem.ts'
import type { AdminRouteDeps } from './routes-admin.ts'

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
type ProviderView = z.input<typeof providerSchema>

const DEFAULT_HOURS = 24
const query = z.object({
  hours: z.coerce.number().int().min(1).max(168).default(DEFAULT_HOURS).describe('How far back errors are counted'),
})
const params = z.object({ name: z.string().min(1).max(100) })

const common = { tags: ['Admin'], security: [{ administrator: [] }] }
const listSchema = {
  summary: 'The providers: who is parked and why, their rates, and their errors by code',
  ...common,
  querystring: query,
  response: {
    200: z.object({ data: z.array(providerSchema), hours: z.int() }),
    ...problemAnswers(401, 422, 429, 503),
  },
}
const probeSchema = {
  summary: 'Try a parked provider now: the next e-mail is sent as a probe',
  ...common,
  params,
  response: {
    200: z.object({ name: z.string(), reasonCode: z.string().describe('Why it was parked') }),
    ...problemAnswers(400, 401, 403, 404, 409, 415, 422, 429, 503),
  },
}

export type AdminProviderDeps = AdminRouteDeps & {
  /** EMAIL_PROVIDER, in its order. */
  providers: string[]
  /** SEND_RATE_PER_SECOND. */
  sendRate: number | null
}

export function adminProviderRoutes(app: App, deps: AdminProviderDeps): void {
  const { db, onRequest, providers, sendRate } = deps

  app.get('/admin/providers', { onRequest, schema: listSchema }, async request => {
    const { hours } = request.query as z.output<typeof query>
    const [rows, activity] = await Promise.all([listProviders(db.pool, null), readProviderActivity(db.pool, hours)])
    const nowMs = db.clock.nowMs()
    const data = inOrder(rows, providers).map(row => {
      const used = activity.find(one => one.name === row.name)
      return toView(row, used, { configured: providers.includes(row.name), sendRate, nowMs })
    })
    return { data, hours }
  })
  app.post('/admin/providers/:name/probe', { onRequest, schema: probeSchema }, async request => {
    const { name } = request.params as z.output<typeof params>
    const [row] = name.includes('\0') ? [] : await listProviders(db.pool, [name])
    if (!row) throw new Problem('NOT_FOUND')
    const reasonCode = await requestProbe(db.pool, name, request.admin!)
    if (reasonCode === null) throw new Problem('PROVIDER_NOT_PARKED')
    return { name, reasonCode }
  })
}

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
