import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { LANES_IN_FULL, startDeployment } from '../support/deployment.ts'
import { edition, fault } from '../support/faults.ts'
import { audit, endHolds } from '../support/ledger.ts'

const STOPS = edition(1, 10)
const EMAILS_PER_STOP = edition(200, 500)
const LEASE_SECONDS = 5
/** Expired leases are looked for every five seconds. */
const LONGER_THAN_THE_LEASE_MS = (LEASE_SECONDS + 6) * 1000

describe.concurrent(`a worker stopped with SIGSTOP for longer than its lease (${STOPS} ×)`, () => {
  test.for(LANES_IN_FULL)(
    '%s lane: what it writes late changes nothing, or settles what was unknown',
    {
      timeout: edition(120_000, 900_000),
    },
    async ([lane, redis], context) => {
      const { between, report } = fault(context, `worker stopped with SIGSTOP for longer than its lease, ${lane} lane`)
      const env = { WORKER_CONCURRENCY: '25', LEASE_SECONDS: String(LEASE_SECONDS) }
      const deployment = await startDeployment(context, { redis, env })
      await deployment.ses.control({ default: { kind: 'ok', latencyMs: 150 } })
      const workers = [await deployment.worker(), await deployment.worker()]
      for (let stop = 1; stop <= STOPS; stop++) {
        await deployment.post(EMAILS_PER_STOP)
        const victim = workers[between(0, 1)]!
        if (stop % 2 === 1) await deployment.sending(victim)
        else await sleep(between(0, 500))
        victim.signal('SIGSTOP')
        await deployment.post(EMAILS_PER_STOP / 2)
        // Now and then it wakes just as its leases are being taken from it.
        await sleep(stop % 3 === 0 ? between(4_000, 10_000) : LONGER_THAN_THE_LEASE_MS)
        victim.signal('SIGCONT')
        await sleep(between(0, 1_000))
      }
      const seconds = await deployment.drained()
      const held = await endHolds(deployment.db.pool)
      const { broken, figures } = await audit(deployment.db.pool, {
        accepted: deployment.accepted,
        log: deployment.ses.accepted(),
      })
      expect(deployment.refused).toEqual([])
      expect(broken).toEqual([])
      expect(figures.unknown, 'stops that hit nothing under way prove nothing').toBeGreaterThan(0)
      report({
        done: `${STOPS} times one of two workers stopped for ${LONGER_THAN_THE_LEASE_MS / 1000} s with a lease of ${LEASE_SECONDS} s, ${deployment.accepted.size} e-mails`,
        checked: 'the promise; late writes hit nothing or settle an UNKNOWN',
        figures: { ...figures, 'held to the end': held, 'seconds to drain': seconds.toFixed(1) },
      })
    },
  )
})
