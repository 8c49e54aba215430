import pg from 'pg'
import { claimFairBatch } from '../src/outbox/claim.ts'
import { uuidv7 } from '../src/platform/text/uuid.ts'
import { type Claim, measureClaims } from './support/claim-cost.ts'
import { startPostgres } from './support/databases.ts'
import { claimFifo, fillFifo } from './support/fifo-claim.ts'
import { writeResults } from './support/results.ts'
import { absoluteTable, interleave, RATIO_HEAD, ROUNDS, ratioRow } from './support/rounds.ts'

/** What the line takes at full speed (between 115 and 190), and less. */
const SIZE = 150
const WHY = `The factor 2 is missed, and the design stays: nine to eighteen millionths of a second of one core for each e-mail are a tenth of what sending it costs. The fair claim finds each company's e-mails by their keys and takes them away by one statement for each company and priority; a FIFO claim takes any rows that come next in one scan. One statement for all of them is faster, and was planned while the table was empty and then read the whole backlog.`
const SMALL_SIZE = 100
const CLAIMS = 400
/** What one measurement takes, its warm-up included. */
const TAKEN = (CLAIMS + 10) * SIZE

const claimFair: Claim = {
  queue: 'email_ready',
  leases: 'leases',
  take: async (client, size) => {
    const limits = { endedLeases: [], allowances: new Map(), defaultAllowance: 1_000_000 }
    const lease = { leaseId: uuidv7(), kind: 'work' as const, holder: 'bench', leaseSeconds: 60 }
    return (await claimFairBatch(client, { ...lease, ...limits, size, perTurn: 3 })).length
  },
}

/** As many as are to wait besides what is measured; ids in the order of time, the companies taking turns. */
async function fillFair(db: pg.ClientBase, backlog: number, companies: number, registered = companies): Promise<void> {
  await db.query('truncate email_ready, leases')
  await db.query('truncate companies cascade')
  await db.query(
    `insert into companies (company_id, name) select md5(n::text)::uuid, 'bench ' || n from generate_series(0, $1::int - 1) n`,
    [registered],
  )
  await db.query(
    `insert into email_ready (company_id, priority, outbox_id)
     select md5((n % $2::int)::text)::uuid, 5,
       (left(hex, 8) || '-' || right(hex, 4) || '-7' || substr(md5(n::text), 1, 3) || right(gen_random_uuid()::text, 18))::uuid
     from generate_series(1, $1::int) n
     cross join lateral (select lpad(to_hex((extract(epoch from now()) * 1000)::bigint + n), 12, '0') as hex) t`,
    [backlog, companies],
  )
  await db.query('vacuum analyze email_ready')
  await db.query('vacuum analyze companies')
}

/** Most companies have nothing to send: the list of them is no help, and the next one with mail is looked for. */
const fillOneInTen: typeof fillFair = (db, backlog, companies) => fillFair(db, backlog, companies, 10 * companies)

/** The whole fair claim, against plain first in, first out; and against itself with more backlog and more companies. */
export async function benchClaim(): Promise<void> {
  const postgres = await startPostgres()
  const url = await postgres.fresh()
  const db = new pg.Client({ connectionString: url })
  await db.connect()
  const cost = async (fill: typeof fillFair, claim: Claim, backlog: number, companies: number, size = SIZE) => {
    // Before the fill: the first change of a page after it takes the whole page to the log, and that would be a third of what is measured.
    await db.query('checkpoint')
    await fill(db, backlog, companies)
    return (await measureClaims(url, claim, { claims: CLAIMS, size })).cpuMicrosPerEmail
  }
  try {
    const figures = await interleave({
      'FIFO, 10 companies': () => cost(fillFifo, claimFifo, TAKEN + 5_000, 10),
      'fair, 10 companies': () => cost(fillFair, claimFair, TAKEN + 5_000, 10),
      'FIFO, 1 000 companies': () => cost(fillFifo, claimFifo, TAKEN + 5_000, 1_000),
      'fair, 1 000 companies': () => cost(fillFair, claimFair, TAKEN + 5_000, 1_000),
      'FIFO, 10 companies, smaller batches': () => cost(fillFifo, claimFifo, TAKEN, 10, SMALL_SIZE),
      'fair, 10 companies, smaller batches': () => cost(fillFair, claimFair, TAKEN, 10, SMALL_SIZE),
      'FIFO, 1 000 companies, smaller batches': () => cost(fillFifo, claimFifo, TAKEN, 1_000, SMALL_SIZE),
      'fair, 1 000 companies, smaller batches': () => cost(fillFair, claimFair, TAKEN, 1_000, SMALL_SIZE),
      'fair, 1 000 of 10 000 companies': () => cost(fillOneInTen, claimFair, TAKEN + 5_000, 1_000),
      'fair, 10 000 companies': () => cost(fillFair, claimFair, TAKEN + 40_000, 10_000),
      'fair, 10 companies, backlog of a million': () => cost(fillFair, claimFair, 1_000_000, 10),
    })
    const ten = figures['fair, 10 companies']
    const thousand = figures['fair, 1 000 companies']
    writeResults('claim', [
      `CPU of the Postgres backend, batches of ${SIZE}, which is what the line takes at full speed, and smaller ones of ${SMALL_SIZE}; ${CLAIMS} claims a measurement, ${ROUNDS} rounds. Both take the rows away and write one lease; other connections do for both what the line does between two claims (a commit that waits for the disk, a vacuum every 5 000, of a large backlog every 50 times its root). The FIFO claim waits for the disk at its commit, as one that is not designed otherwise does; ours need not. The small backlog is what is measured (${TAKEN}) and 5 000 more.`,
      '',
      ...RATIO_HEAD,
      ratioRow('fair ÷ FIFO SKIP LOCKED, 10 companies', '≤ 2', ten, figures['FIFO, 10 companies']),
      ratioRow('fair ÷ FIFO SKIP LOCKED, 1 000 companies', '≤ 2', thousand, figures['FIFO, 1 000 companies']),
      ratioRow(
        'fair ÷ FIFO, 10 companies, smaller batches',
        '',
        figures['fair, 10 companies, smaller batches'],
        figures['FIFO, 10 companies, smaller batches'],
      ),
      ratioRow(
        'fair ÷ FIFO, 1 000 companies, smaller batches',
        '',
        figures['fair, 1 000 companies, smaller batches'],
        figures['FIFO, 1 000 companies, smaller batches'],
      ),
      ratioRow(
        'fair ÷ FIFO, 1 000 companies, 9 000 others have no mail',
        '',
        figures['fair, 1 000 of 10 000 companies'],
        figures['FIFO, 1 000 companies'],
      ),
      ratioRow('backlog of 1 M ÷ small', '≤ 1.2', figures['fair, 10 companies, backlog of a million'], ten),
      ratioRow('1 000 companies ÷ 10', '≤ 1.7', thousand, ten),
      ratioRow('10 000 companies ÷ 1 000', '≤ 1.2', figures['fair, 10 000 companies'], thousand),
      '',
      WHY,
      '',
      ...absoluteTable('µs of CPU per e-mail', figures, 1),
    ])
  } finally {
    await db.end()
    await postgres.close()
  }
}
