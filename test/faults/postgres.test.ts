import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { type Deployment, LANES_IN_FULL, startDeployment } from '../support/deployment.ts'
import { edition, fault } from '../support/faults.ts'
import { call, until } from '../support/gateway.ts'
import { audit, endHolds } from '../support/ledger.ts'
import { startOwnPostgres } from '../support/own-postgres.ts'

const KILLS = edition(2, 10)
const EMAILS_PER_KILL = edition(120, 500)

describe.concurrent(`Postgres killed with SIGKILL ${KILLS} times under load`, () => {
  test.for(LANES_IN_FULL)(
    '%s lane: 503 meanwhile, never a 202 that is not kept, and everything ends afterwards',
    {
      timeout: edition(180_000, 900_000),
    },
    async ([lane, redis], context) => {
      const { between, report } = fault(context, `Postgres killed with SIGKILL, ${lane} lane`)
      const server = await startOwnPostgres()
      context.onTestFinished(() => server.close())
      const deployment = await startDeployment(context, {
        redis,
        databaseUrl: server.url,
        env: { WORKER_CONCURRENCY: '25', UNKNOWN_GRACE_SECONDS: '15' },
      })
      await deployment.ses.control({ default: { kind: 'ok', latencyMs: 100 } })
      await deployment.worker()
      await deployment.worker()
      for (let kill = 1; kill <= KILLS; kill++) {
        await deployment.post(EMAILS_PER_KILL / 2)
        const posting = keepPosting(deployment, EMAILS_PER_KILL / 2)
        await sleep(between(0, 600))
        await server.kill()
        await sleep(between(300, 2_000))
        await server.start()
        await posting.stop()
        await acceptsAgain(deployment)
      }
      const seconds = await deployment.drained()
      const held = await endHolds(deployment.db.pool)
      const { broken, figures } = await audit(deployment.db.pool, {
        accepted: deployment.accepted,
        log: deployment.ses.accepted(),
      })
      expect(broken).toEqual([])
      expect(figures.duplicates, 'the workers live and know the answers').toBe(0)
      expect(figures.unknown, 'the workers live and know whom they called').toBe(0)
      expect(deployment.refused.length, 'requests that met no database').toBeGreaterThan(0)
      for (const answer of deployment.refused) {
        expect(answer.status, answer.text).toBe(503)
        expect(answer.headers.get('content-type')).toMatch('application/problem+json')
        expect(answer.body).toMatchObject({ status: 503, code: expect.any(String), requestId: expect.any(String) })
      }
      report({
        done: `${KILLS} kills of the postmaster and its children, ${deployment.accepted.size} e-mails`,
        checked: '503 as problem+json meanwhile; every 202 ends; no duplicate and no UNKNOWN',
        figures: {
          ...figures,
          'answers 503': deployment.refused.length,
          'held to the end': held,
          'seconds to drain': seconds.toFixed(1),
        },
      })
    },
  )
})

/** Small requests one after the other, whatever they are answered. */
function keepPosting(deployment: Deployment, most: number): { stop: () => Promise<void> } {
  let stopping = false
  async function run(): Promise<void> {
    for (let posted = 0; !stopping; posted += 10) {
      if (posted < most || deployment.refused.length === 0) await deployment.post(10)
      await sleep(30)
    }
  }
  const running = run()
  return {
    async stop() {
      stopping = true
      await running
    },
  }
}

async function acceptsAgain({ api, companies, accepted }: Deployment): Promise<void> {
  const body = { to: 'again@example.com', subject: 'Again', text: 'It works.' }
  const answer = await until(
    () => call(api.url, companies[0]!, 'POST', '/v1/email/send', body),
    ({ status }) => status === 202,
    30_000,
  )
  accepted.add(answer.body.outboxId)
}
