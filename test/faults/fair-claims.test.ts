import { describe, expect, test } from 'vitest'
import { type Deployment, LANES_IN_FULL, startDeployment } from '../support/deployment.ts'
import { edition, fault } from '../support/faults.ts'
import { audit } from '../support/ledger.ts'
import { addCompanies, around, HTML, longestOf, type Member, postMix, runsOf } from '../support/mixes.ts'

const MIXES = edition(1, 20)
const EMAILS = edition(200, 1_000)
const PER_TURN = 3

describe.concurrent('three workers that share the mail of companies that wait together', () => {
  test.for(LANES_IN_FULL)(
    '%s lane: no company gets more than a turn while another waits with nothing in flight',
    {
      timeout: edition(120_000, 900_000),
    },
    async ([lane, redis], context) => {
      const own = fault(context, `order of handing out to three workers, ${lane} lane`)
      const deployment = await startDeployment(context, { redis, companies: 0, env: { WORKER_CONCURRENCY: '4' } })
      const companies = await addCompanies(deployment)
      await recordClaims(deployment, redis ? 'dispatch' : 'work')
      await deployment.ses.control({ default: { kind: 'ok', latencyMs: 5 } })
      let longest = 0
      for (let mix = 1; mix <= MIXES; mix++) {
        await postMix(deployment, EMAILS, HTML.long, own)
        const workers = [deployment.launchWorker(), deployment.launchWorker(), await deployment.worker()]
        await deployment.drained()
        for (const worker of workers) worker.signal('SIGTERM')
        for (const worker of workers) expect(await worker.exited).toEqual({ code: 0, signal: null })
        const steps = await claimedSteps(deployment, companies)
        const order = steps.map(step => step.member)
        const runs = runsOf(order, PER_TURN)
        // A company that has as many in flight as its share allows is being served: others may go on meanwhile.
        const unfair = runs.filter(
          ({ turns, place, member }) => turns > 1 && steps[place]!.leftOut.some(one => one !== member.name),
        )
        expect(unfair.map(run => `${around(order, run)}, without ${steps[run.place]!.leftOut.join(' ')}`)).toEqual([])
        longest = Math.max(longest, longestOf(runs))
      }
      const { broken, figures } = await audit(deployment.db.pool, {
        accepted: deployment.accepted,
        log: deployment.ses.accepted(),
      })
      expect(broken).toEqual([])
      own.report({
        done: `${MIXES} mixes of up to ${companies.size} companies, ${deployment.accepted.size} e-mails, three workers of four calls at a time`,
        checked: 'never more than 3 × weight in a row while another company waits with nothing in flight',
        figures: {
          ...figures,
          'longest run in turns, beside companies that have their share in flight': longest.toFixed(2),
        },
      })
    },
  )
})

/** With each claim: who was left waiting although nothing of theirs was in flight. */
async function recordClaims({ db }: Deployment, kind: 'work' | 'dispatch'): Promise<void> {
  await db.pool.query(`
    create table noted_claims (place bigserial, outbox_ids uuid[], left_out text[]);
    create function note_lease() returns trigger language plpgsql as $$ begin
      insert into noted_claims (outbox_ids, left_out) select new.outbox_ids, array(
        select name from companies c where exists (select from email_ready r where r.company_id = c.company_id)
          and not exists (select from leases l cross join unnest(l.outbox_ids) as i(id) join email_outbox o on o.outbox_id = i.id
            where o.company_id = c.company_id and o.status in ('PENDING', 'PROCESSING', 'RETRY_SCHEDULED')));
      return null;
    end $$;
    create trigger note_lease after insert on leases for each row when (new.kind = '${kind}') execute function note_lease()`)
}

type Step = { member: Member; leftOut: string[] }

/**
 * In the order of the claims, which a lock makes one after the other; each e-mail at its first time. Left out is who was so at the claim
 * before as well: what a company has in flight may end between the decision of a claim and the note of it.
 */
async function claimedSteps({ db }: Deployment, companies: Map<string, Member>): Promise<Step[]> {
  const { rows } = await db.pool.query<{ name: string; leftOut: string[] }>(
    `with gone as (delete from noted_claims returning place, outbox_ids, left_out), noted as (
       select place, outbox_ids, left_out, lag(left_out) over (order by place) as left_out_before from gone
     ), first as (
       select distinct on (id) id, place, nth, array(select unnest(left_out) intersect select unnest(left_out_before)) as left_out
       from noted cross join unnest(outbox_ids) with ordinality as i(id, nth) order by id, place, nth)
     select c.name, left_out as "leftOut" from first join email_outbox o on o.outbox_id = first.id join companies c using (company_id)
     order by place, nth`,
  )
  return rows.map(({ name, leftOut }) => ({ member: companies.get(name)!, leftOut }))
}
