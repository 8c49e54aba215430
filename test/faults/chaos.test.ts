import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { listCounters } from '../../src/platform/postgres/counters.ts'
import { type Parts, type Supervised, supervise, TROUBLES } from '../support/chaos.ts'
import { type Deployment, LANES_IN_FULL, startDeployment } from '../support/deployment.ts'
import { edition, type Fault, FULL, fault, freePort } from '../support/faults.ts'
import { call, until } from '../support/gateway.ts'
import { audit, endHolds } from '../support/ledger.ts'
import { startOwnPostgres } from '../support/own-postgres.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

/** CHAOS_SECONDS: for a longer or shorter run. */
const SECONDS = Number(process.env.CHAOS_SECONDS ?? edition(5, 600))
const WORKERS = 3
const POSTERS = 4
/** A provider that was parked by its half-open connections is tried again after up to two and a half minutes. */
const DRAIN_SECONDS = edition(60, 300)

describe.concurrent(`${SECONDS} s of random trouble in all parts at once`, () => {
  test.for(LANES_IN_FULL)(
    '%s lane: every 202 ends, nothing is sent twice without UNKNOWN, and no process hangs',
    {
      timeout: edition(180_000, 2_400_000),
    },
    async ([lane, redis], context) => {
      const own = fault(context, `random trouble in all parts, ${lane} lane`)
      console.log(`chaos, ${lane} lane: SEED=${own.seed}`)
      const postgres = await startOwnPostgres()
      context.onTestFinished(() => postgres.close())
      const networks = {} as { postgres: TcpProxy; provider: TcpProxy; redis: TcpProxy | null }
      context.onTestFinished(async () => {
        for (const one of Object.values(networks)) await one?.close()
      })
      const port = await freePort()
      const deployment = await startDeployment(context, {
        redis,
        databaseUrl: postgres.url,
        env: { PORT: String(port), WORKER_CONCURRENCY: '20' },
        async between(urls) {
          networks.postgres = await startTcpProxy(urls.database)
          networks.provider = await startTcpProxy(urls.ses)
          networks.redis = redis ? await startTcpProxy(urls.redis) : null
          const via = {
            DATABASE_URL: networks.postgres.url,
            AWS_ENDPOINT_URL_SESV2: withoutSlash(networks.provider.url),
          }
          return { ...via, ...(networks.redis && { REDIS_URL: networks.redis.url }) }
        },
      })
      // Slow enough that every kill meets some under way.
      await deployment.ses.control({ default: { kind: 'ok', latencyMs: 400 } })
      deployment.api.signal('SIGKILL')
      await deployment.api.exited
      const api = supervise(deployment.launchApi)
      const workers = Array.from({ length: WORKERS }, () => supervise(() => deployment.launchWorker()))
      const all = [api, ...workers]
      context.onTestFinished(() => all.forEach(one => void one.release()))
      const parts: Parts = { postgres, redis: deployment.redis, networks, api, workers }
      const posting = keepPosting(deployment)
      const happened = await troubleFor(SECONDS, parts, own)
      await posting.stop()

      for (const worker of workers)
        await deployment.sending(pidOf(worker), DRAIN_SECONDS * 1000).catch(async error => {
          throw new Error(`${await standing(deployment)}\n${worker.running().output().slice(-3_000)}`, { cause: error })
        })
      const seconds = await deployment.drained(DRAIN_SECONDS)
      const held = await endHolds(deployment.db.pool)
      const { broken, figures } = await audit(deployment.db.pool, {
        accepted: deployment.accepted,
        log: deployment.ses.accepted(),
      })
      expect(broken).toEqual([])
      const counters = await listCounters(deployment.db.pool)
      expect(counters.filter(one => one.name === 'poison_jobs' || one.name === 'orphaned_emails')).toEqual([])
      expect(all.flatMap(one => one.endedByItself.running)).toEqual([])
      const stops = await Promise.all(
        all.map(one => {
          one.release()
          return one.replace('SIGTERM')
        }),
      )
      expect(stops.map(one => one.code)).toEqual(stops.map(() => 0))
      const total = [...happened.values()].reduce((sum, times) => sum + times, 0)
      own.report({
        done: `${SECONDS} s; ${total} faults of ${happened.size} kinds in all parts (killed, stopped, hung, slow, connections reset or half-open); ${WORKERS} workers`,
        checked:
          'the promise; no job counted as garbled; afterwards the API accepts, every worker sends, and all exit 0',
        figures: {
          ...figures,
          'held to the end': held,
          'starts given up for want of Postgres': all.flatMap(one => one.endedByItself.starting).length,
          'longest ms from SIGTERM to exit': Math.round(Math.max(...stops.map(one => one.ms))),
          'seconds to drain': seconds.toFixed(1),
        },
      })
    },
  )
})

/** Whoever runs in its place at the moment. */
const pidOf = (one: Supervised) => ({
  get pid() {
    return one.running().pid
  },
})

/** What the database says, for whoever reads about a failure. */
async function standing({ db }: Deployment): Promise<string> {
  const { rows } = await db.pool.query(`select
    (select json_object_agg(status, count) from (select status, count(*) from email_outbox group by status) s) as emails,
    (select json_agg(p) from providers p) as providers, (select json_agg(w) from workers w) as workers, now(),
    (select json_agg(l) from (select kind, holder, expires_at, cardinality(outbox_ids) from leases limit 20) l) as leases`)
  return JSON.stringify(rows[0])
}

const withoutSlash = (url: string) => url.replace(/\/$/, '')

/** One trouble after the other, sometimes the next before the last is over; answers how often each came. */
async function troubleFor(seconds: number, parts: Parts, own: Fault): Promise<Map<string, number>> {
  const possible = TROUBLES.filter(one => (FULL || !one.onlyFull) && (parts.redis || !one.needsRedis))
  const happened = new Map<string, number>()
  const underWay = new Set<Promise<unknown>>()
  const busy = new Set<string>()
  const end = Date.now() + seconds * 1000
  while (Date.now() < end) {
    const { name, cause } = possible[own.between(0, possible.length - 1)]!
    const pause = own.between(200, edition(1_000, 4_000))
    if (!busy.has(name)) {
      happened.set(name, (happened.get(name) ?? 0) + 1)
      busy.add(name)
      const over = cause(parts, own).finally(() => {
        busy.delete(name)
        underWay.delete(over)
      })
      underWay.add(over)
      over.catch(() => {})
    }
    await sleep(pause)
  }
  await Promise.all(underWay)
  return happened
}

/** Small requests all the time, whatever they are answered: only a 202 is a promise. */
function keepPosting(deployment: Deployment): { stop: () => Promise<void> } {
  let stopping = false
  async function run(poster: number): Promise<void> {
    for (let posted = poster; !stopping; posted++) {
      const company = deployment.companies[posted % deployment.companies.length]!
      const bodies = Array.from({ length: 6 }, (_, n) => ({
        to: `r${posted}-${n}@example.com`,
        subject: `Mail ${posted}`,
        text: 'It works.',
        onUnknown: n % 2 === 0 ? 'hold' : 'resend',
      }))
      const answer = await Promise.race([
        call(deployment.api.url, company, 'POST', '/v1/email/batch', bodies).catch(() => null),
        sleep(5_000, null, { ref: false }),
      ])
      if (answer?.status === 202) for (const one of answer.body.data) deployment.accepted.add(one.outboxId)
      await sleep(edition(60, 400))
    }
  }
  const running = Array.from({ length: POSTERS }, (_, poster) => run(poster))
  return {
    async stop() {
      await until(
        () => call(deployment.api.url, null, 'GET', '/health/ready').catch(() => ({ status: 0 })),
        ({ status }) => status === 200,
        60_000,
      )
      stopping = true
      await Promise.all(running)
    },
  }
}
