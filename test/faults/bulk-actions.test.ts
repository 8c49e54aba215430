import { expect, test } from 'vitest'
import { submitWalk } from '../../src/dead-letters/jobs.ts'
import { findJob } from '../../src/jobs/jobs.ts'
import { EVERY_DEAD_LETTER, makeDead, replaysOf } from '../support/dead.ts'
import { startDeployment } from '../support/deployment.ts'
import { edition, fault } from '../support/faults.ts'
import { until } from '../support/gateway.ts'

const EMAILS = edition(1_000, 5_000)
const KILLS = edition(1, 3)

test(`a replay of ${EMAILS} ends and its progress is right, with ${KILLS} workers killed in the middle`, {
  timeout: 120_000,
}, async context => {
  const { report } = fault(context, 'worker killed with SIGKILL in the middle of a bulk action')
  const { db, companies, worker } = await startDeployment(context, { companies: 1 })
  const { companyId } = companies[0]!
  await makeDead(db.pool, companyId, EMAILS)
  const jobId = await submitWalk(
    db.pool,
    { ...EVERY_DEAD_LETTER, companyId },
    { use: 'replay', requestedBy: 'ana', reason: 'The provider works again', isBulkAction: true },
  )
  const read = async () => (await findJob(db.pool, jobId))!
  const killedAt: number[] = []
  for (let kill = 1; kill <= KILLS; kill++) {
    const one = await worker()
    await until(read, action => action.done >= (EMAILS * kill) / (KILLS + 1), 60_000)
    one.signal('SIGKILL')
    await one.exited
    killedAt.push((await read()).done)
    const { events, twice } = await replaysOf(db.pool, companyId)
    expect({ events, twice }, 'what is counted is what was replayed').toEqual({ events: killedAt.at(-1), twice: 0 })
  }
  expect(
    killedAt.every(done => done < EMAILS),
    'a kill after the end proves nothing',
  ).toBe(true)
  await Promise.all([worker(), worker()])
  const ended = await until(read, action => action.finishedAt !== null, 60_000)
  expect(ended).toMatchObject({ state: 'done', total: EMAILS, done: EMAILS, failed: 0, counts: { replayed: EMAILS } })
  expect(await replaysOf(db.pool, companyId)).toMatchObject({ events: EMAILS, dead: 0, twice: 0 })
  report({
    done: `${KILLS} kills in the middle of a replay of ${EMAILS} dead letters; then two workers`,
    checked: 'the progress is what was replayed at each kill; each dead letter replayed once',
    figures: { replayed: ended.done, 'done at the kills': killedAt.join(', ') },
  })
})
