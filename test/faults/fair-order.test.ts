import { describe, expect, test } from 'vitest'
import { edition, type Fault, fault } from '../support/faults.ts'
import { audit } from '../support/ledger.ts'
import { LANES, type Scene, startScene } from '../support/scene.ts'

const MIXES = edition(3, 20)
const EMAILS = edition(150, 1_000)
const PER_TURN = 3
const ONE_HAND = { WORKER_CONCURRENCY: '1' }

describe.concurrent(`${MIXES} random mixes of companies that wait together`, () => {
  test.for(LANES)(
    '%s lane with one hand: nobody is sent for more than three times its weight in a row',
    {
      timeout: edition(120_000, 900_000),
    },
    async ([lane, redis], context) => {
      const own = fault(context, `order at the provider, ${lane} lane`)
      const scene = await startScene(context, { redis, companies: 0, env: ONE_HAND })
      const companies = await addCompanies(scene)
      let longest = 0
      for (let mix = 1; mix <= MIXES; mix++) {
        const seen = scene.ses.accepted().length
        await postMix(scene, own)
        const worker = await scene.worker()
        await scene.drained()
        worker.signal('SIGTERM')
        expect(await worker.exited).toEqual({ code: 0, signal: null })
        const order = scene.ses.accepted().slice(seen)
        longest = Math.max(longest, expectFair(order.map(line => companies.get(line.tags.company!)!)))
      }
      const { broken, figures } = await audit(scene.db.pool, { accepted: scene.accepted, log: scene.ses.accepted() })
      expect(broken).toEqual([])
      expect(figures).toMatchObject({ SENT: scene.accepted.size, duplicates: 0, unknown: 0 })
      own.report({
        done: `${MIXES} mixes of up to ${companies.size} companies of weight 1 to 3, ${scene.accepted.size} e-mails, one hand`,
        checked: 'in the log of the provider never more than 3 × weight in a row while another company waits',
        figures: { ...figures, 'longest run in turns': longest.toFixed(2) },
      })
    },
  )

  test.for(LANES)(
    '%s lane with three workers: they are handed out fairly, whoever sends them',
    {
      timeout: edition(120_000, 900_000),
    },
    async ([lane, redis], context) => {
      const own = fault(context, `order of handing out to three workers, ${lane} lane`)
      const scene = await startScene(context, { redis, companies: 0, env: { WORKER_CONCURRENCY: '4' } })
      const companies = await addCompanies(scene)
      await noteWhatIsHandedOut(scene, redis ? 'dispatch' : 'work')
      await scene.ses.control({ default: { kind: 'ok', latencyMs: 5 } })
      let longest = 0
      for (let mix = 1; mix <= edition(1, MIXES); mix++) {
        await postMix(scene, own)
        const workers = [scene.launchWorker(), scene.launchWorker(), await scene.worker()]
        await scene.drained()
        for (const worker of workers) worker.signal('SIGTERM')
        await Promise.all(workers.map(worker => worker.exited))
        const order = await handedOut(scene)
        longest = Math.max(longest, expectFair(order.map(name => companies.get(name)!)))
      }
      const { broken, figures } = await audit(scene.db.pool, { accepted: scene.accepted, log: scene.ses.accepted() })
      expect(broken).toEqual([])
      own.report({
        done: `${edition(1, MIXES)} mixes of up to ${companies.size} companies, ${scene.accepted.size} e-mails, three workers of four hands`,
        checked: 'in the order of the claims never more than 3 × weight in a row while another company waits',
        figures: { ...figures, 'longest run in turns': longest.toFixed(2) },
      })
    },
  )
})

type Member = { name: string; weight: number }

async function addCompanies(scene: Scene): Promise<Map<string, Member>> {
  for (const weight of [1, 1, 2, 1, 3, 1]) await scene.addCompany({ weight })
  return new Map(scene.companies.map(company => [company.name, company]))
}

/** All of it waits before anybody is there to send it; some of it takes longer to check. */
async function postMix(scene: Scene, { between }: Fault): Promise<void> {
  const html = `<p>${'It works. '.repeat(2_000)}</p>`
  const everybody = [...scene.companies]
  for (let left = EMAILS; left > 0; ) {
    const count = Math.min(left, between(1, 40))
    scene.companies.splice(0, scene.companies.length, everybody[between(0, everybody.length - 1)]!)
    await scene.post(count, () => ({ priority: between(1, 10), ...(between(0, 3) === 0 && { html }) }))
    left -= count
  }
  scene.companies.splice(0, scene.companies.length, ...everybody)
}

/** Answers the longest run in turns; 1 is a full turn. A company that is alone may go on. */
function expectFair(order: Member[]): number {
  const left = new Map<Member, number>()
  for (const member of order) left.set(member, (left.get(member) ?? 0) + 1)
  let longest = 0
  let run = 0
  order.forEach((member, place) => {
    run = order[place - 1] === member ? run + 1 : 1
    left.set(member, left.get(member)! - 1)
    const others = [...left].some(([other, count]) => other !== member && count > 0)
    if (!others) return
    const names = order.slice(Math.max(0, place - run - 5), place + 5).map(one => one.name)
    expect(run, `${member.name} at ${place}: ${names.join(' ')}`).toBeLessThanOrEqual(PER_TURN * member.weight)
    longest = Math.max(longest, run / (PER_TURN * member.weight))
  })
  return longest
}

async function noteWhatIsHandedOut({ db }: Scene, kind: 'work' | 'dispatch'): Promise<void> {
  await db.pool.query(`
    create table handed_out (place bigserial, outbox_ids uuid[]);
    create function note_lease() returns trigger language plpgsql as
      $$ begin insert into handed_out (outbox_ids) values (new.outbox_ids); return null; end $$;
    create trigger note_lease after insert on leases for each row when (new.kind = '${kind}') execute function note_lease()`)
}

/** Names of companies, in the order of the claims, which a lock makes one after the other. Each e-mail at its first time. */
async function handedOut({ db }: Scene): Promise<string[]> {
  const { rows } = await db.pool.query<{ name: string }>(
    `with gone as (delete from handed_out returning place, outbox_ids), first as (
       select distinct on (id) id, place, nth from gone cross join unnest(outbox_ids) with ordinality as i(id, nth)
       order by id, place, nth)
     select c.name from first join email_outbox o on o.outbox_id = first.id join companies c using (company_id)
     order by place, nth`,
  )
  return rows.map(row => row.name)
}
