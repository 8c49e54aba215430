import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { LANES, type Running, startDeployment } from '../support/deployment.ts'
import { edition, fault } from '../support/faults.ts'
import { audit, endHolds } from '../support/ledger.ts'

const KILLS = edition(4, 100)
const EMAILS = edition(400, 20_000)
const LATENCY_MS = 100

describe.concurrent(`a worker killed with SIGKILL ${KILLS} times under a load of ${EMAILS} e-mails`, () => {
  test.for(LANES)(
    '%s lane: every 202 ends, and nothing is sent twice but by resend after UNKNOWN',
    {
      timeout: edition(120_000, 900_000),
    },
    async ([lane, redis], context) => {
      const { between, report } = fault(context, `worker killed with SIGKILL, ${lane} lane`)
      const deployment = await startDeployment(context, { redis, env: { WORKER_CONCURRENCY: '25' } })
      await deployment.ses.control({ default: { kind: 'ok', latencyMs: LATENCY_MS } })
      const workers: Running[] = [await deployment.worker(), await deployment.worker()]
      for (let kill = 1; kill <= KILLS; kill++) {
        await deployment.post(Math.floor(EMAILS / KILLS))
        const place = between(0, 1)
        // Every fourth one may die while it is still starting, and every fourth one surely in the middle of something.
        if (kill % 4 === 1) await deployment.sending(workers[place]!)
        else await sleep(between(0, kill % 4 === 0 ? 300 : 1_500))
        workers[place]!.signal('SIGKILL')
        expect(await workers[place]!.exited).toEqual({ code: null, signal: 'SIGKILL' })
        workers[place] = kill % 4 === 3 ? deployment.launchWorker() : await deployment.worker()
      }
      const left = deployment.accepted.size - new Set(deployment.ses.accepted().map(one => one.outboxId)).size
      const seconds = await deployment.drained()
      const held = await endHolds(deployment.db.pool)
      const { broken, figures } = await audit(deployment.db.pool, {
        accepted: deployment.accepted,
        log: deployment.ses.accepted(),
      })
      expect(deployment.refused).toEqual([])
      expect(broken).toEqual([])
      expect(figures.unknown, 'kills that hit nothing under way prove nothing').toBeGreaterThan(0)
      report({
        done: `${KILLS} kills of one of two workers at random moments, ${deployment.accepted.size} e-mails`,
        checked: 'the promise',
        figures: {
          ...figures,
          'held to the end': held,
          'waiting when the kills ended': left,
          'seconds to drain': seconds.toFixed(1),
        },
      })
    },
  )
})
