import { setTimeout as sleep } from 'node:timers/promises'
import { pauseCompany, resumeCompany } from '../../src/companies/companies.ts'
import { accept, JOBS, makeCompanies, openLine, sent } from '../support/our-line.ts'

/**
 * How long a quiet company waits from its commit to the provider's call: alone, and beside one that has dumped JOBS. It
 * sends ten a second, so that a dump that is drained in seconds still gives a tail to look at.
 */
const EVERY_MS = 100
const ALONE = 100

const acceptedMs = new Map<string, number>()
const waits: number[] = []
let others = 0
const ours = await openLine(async ({ outboxId }) => {
  const since = acceptedMs.get(outboxId)
  if (since === undefined) others++
  else waits.push(performance.now() - since)
  return sent()
})
const { db, line } = ours
const [loud, quiet] = await makeCompanies(db, 2)

async function sendOne(): Promise<void> {
  const [outboxId] = await accept(db, [quiet!], 1)
  acceptedMs.set(outboxId!, performance.now())
  line.wake()
}

async function sendWhile(goOn: () => boolean): Promise<number[]> {
  waits.length = 0
  for (let next = performance.now(); goOn(); next += EVERY_MS) {
    await sleep(Math.max(0, next - performance.now()))
    await sendOne()
  }
  await sleep(500)
  return waits.splice(0)
}

await line.prepare()
line.start()
await accept(db, [loud!], 5_000)
while (others < 5_000) await sleep(20)

let left = ALONE
const alone = await sendWhile(() => left-- > 0)
others = 0
// All of it waits when the measurement begins: what the line had sent while it was still being dumped would count as drained.
await pauseCompany(db.pool, loud!, 'bench')
await accept(db, [loud!], JOBS)
await resumeCompany(db.pool, loud!)
line.wake()
const startedMs = performance.now()
let drainedMs = 0
const beside = await sendWhile(() => {
  if (others >= JOBS) drainedMs = performance.now() - startedMs
  return others < JOBS
})
console.log(JSON.stringify({ alone, beside, perSecond: (JOBS * 1000) / drainedMs }))
process.exit(0)
