import { describe, expect, test } from 'vitest'
import { edition, fault } from '../support/faults.ts'
import { audit } from '../support/ledger.ts'
import { addCompanies, around, HTML, longestOf, postMix, runsOf } from '../support/mixes.ts'
import { LANES_IN_FULL, startScene } from '../support/scene.ts'

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
      const scene = await startScene(context, { redis, companies: 0, env: { WORKER_CONCURRENCY: '1' } })
      const companies = await addCompanies(scene)
      let longest = 0
      for (let mix = 1; mix <= MIXES; mix++) {
        const seen = scene.ses.accepted().length
        await postMix(scene, EMAILS, HTML.short, own)
        const worker = await scene.worker()
        await scene.drained()
        worker.signal('SIGTERM')
        expect(await worker.exited).toEqual({ code: 0, signal: null })
        const order = scene.ses
          .accepted()
          .slice(seen)
          .map(line => companies.get(line.tags.company!)!)
        const runs = runsOf(order, PER_TURN)
        expect(runs.filter(run => run.turns > 1).map(run => around(order, run))).toEqual([])
        longest = Math.max(longest, longestOf(runs))
      }
      const { broken, figures } = await audit(scene.db.pool, { accepted: scene.accepted, log: scene.ses.accepted() })
      expect(broken).toEqual([])
      expect(figures).toMatchObject({ SENT: scene.accepted.size, duplicates: 0, unknown: 0 })
      own.report({
        done: `${MIXES} mixes of up to ${companies.size} companies of weight 1 to 3, ${scene.accepted.size} e-mails, one call at a time`,
        checked: 'in the log of the provider never more than 3 × weight in a row while another company waits',
        figures: { ...figures, 'longest run in turns': longest.toFixed(2) },
      })
    },
  )
})
