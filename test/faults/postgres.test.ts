import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { edition, fault } from '../support/faults.ts'
import { call, until } from '../support/gateway.ts'
import { audit, endHolds } from '../support/ledger.ts'
import { startOwnPostgres } from '../support/own-postgres.ts'
import { LANES_IN_FULL, type Scene, startScene } from '../support/scene.ts'

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
      const scene = await startScene(context, {
        redis,
        databaseUrl: server.url,
        env: { WORKER_CONCURRENCY: '25', UNKNOWN_GRACE_SECONDS: '15' },
      })
      await scene.ses.control({ default: { kind: 'ok', latencyMs: 100 } })
      await scene.worker()
      await scene.worker()
      for (let kill = 1; kill <= KILLS; kill++) {
        await scene.post(EMAILS_PER_KILL / 2)
        const posting = keepPosting(scene, EMAILS_PER_KILL / 2)
        await sleep(between(0, 600))
        await server.kill()
        await sleep(between(300, 2_000))
        await server.start()
        await posting.stop()
        await acceptsAgain(scene)
      }
      const seconds = await scene.drained()
      const held = await endHolds(scene.db.pool)
      const { broken, figures } = await audit(scene.db.pool, { accepted: scene.accepted, log: scene.ses.accepted() })
      expect(broken).toEqual([])
      expect(figures.duplicates, 'the workers live and know the answers').toBe(0)
      expect(figures.unknown, 'the workers live and know whom they called').toBe(0)
      expect(scene.refused.length, 'requests that met no database').toBeGreaterThan(0)
      for (const answer of scene.refused) {
        expect(answer.status, answer.text).toBe(503)
        expect(answer.headers.get('content-type')).toMatch('application/problem+json')
        expect(answer.body).toMatchObject({ status: 503, code: expect.any(String), requestId: expect.any(String) })
      }
      report({
        done: `${KILLS} kills of the postmaster and its children, ${scene.accepted.size} e-mails, half of them hold`,
        checked:
          '503 as problem+json meanwhile; every 202 is there and ends; no duplicate and no UNKNOWN: the workers keep the answers meanwhile and know whom they called',
        figures: {
          ...figures,
          'answers 503': scene.refused.length,
          'held to the end': held,
          'seconds to drain': seconds.toFixed(1),
        },
      })
    },
  )
})

/** Small requests one after the other, whatever they are answered. */
function keepPosting(scene: Scene, most: number): { stop: () => Promise<void> } {
  let stopping = false
  async function run(): Promise<void> {
    for (let posted = 0; !stopping; posted += 10) {
      if (posted < most || scene.refused.length === 0) await scene.post(10)
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

async function acceptsAgain({ api, companies, accepted }: Scene): Promise<void> {
  const body = { to: 'again@example.com', subject: 'Again', text: 'It works.' }
  const answer = await until(
    () => call(api.url, companies[0]!, 'POST', '/v1/email/send', body),
    ({ status }) => status === 202,
    30_000,
  )
  accepted.add(answer.body.outboxId)
}
