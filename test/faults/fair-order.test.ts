import { describe, expect, test } from 'vitest'
import { LANES_IN_FULL, startDeployment } from '../support/deployment.ts'
import { edition, fault } from '../support/faults.ts'
import { audit } from '../support/ledger.ts'
import { addCompanies, around, HTML, longestOf, postMix, runsOf } from '../support/mixes.ts'

const MIXES = edition(1, 20)
const EMAILS = edition(250, 1_000)
const PER_TURN = 3

describe.concurrent(`${MIXES} random mixes of companies that wait together`, () => {
  test.for(LANES_IN_FULL)(
    '%s lane, one call at a time: nobody is sent for more than three times its weight in a row',
    {
      timeout: edition(120_000, 900_000),
    },
    async ([lane, redis], context) => {
      const own = fault(context, `order at the provider, ${lane} lane`)
      const deployment = await startDeployment(context, { redis, companies: 0, env: { WORKER_CONCURRENCY: '1' } })
      const companies = await addCompanies(deployment)
      let longest = 0
      for (let mix = 1; mix <= MIXES; mix++) {
        const seen = deployment.ses.accepted().length
        await postMix(deployment, EMAILS, HTML.short, own)
        const worker = await deployment.worker()
        await deployment.drained()
        worker.signal('SIGTERM')
        expect(await worker.exited).toEqual({ code: 0, signal: null })
        const order = deployment.ses
          .accepted()
          .slice(seen)
          .map(line => companies.get(line.tags.company!)!)
        const runs = runsOf(order, PER_TURN)
        expect(runs.filter(run => run.turns > 1).map(run => around(order, run))).toEqual([])
        longest = Math.max(longest, longestOf(runs))
      }
      const { broken, figures } = await audit(deployment.db.pool, {
        accepted: deployment.accepted,
        log: deployment.ses.accepted(),
      })
      expect(broken).toEqual([])
      expect(figures).toMatchObject({ SENT: deployment.accepted.size, duplicates: 0, unknown: 0 })
      own.report({
        done: `${MIXES} mixes of up to ${companies.size} companies of weight 1 to 3, ${deployment.accepted.size} e-mails, one call at a time`,
        checked: 'never more than 3 × weight in a row while another company waits',
        figures: { ...figures, 'longest run in turns': longest.toFixed(2) },
      })
    },
  )
})
