import { rmSync } from 'node:fs'
import { openEmbeddedPostgres } from '../src/platform/postgres/embedded/index.ts'
import { startRedis, temporaryFolder } from './support/processes.ts'
import { perSecond, runReference } from './support/reference.ts'
import { absoluteTable, interleave } from './support/rounds.ts'

/**
 * The references of the sending engine by themselves, to see that they are none to be ashamed of. Nothing of ours is
 * measured, so nothing is written to the results.
 */
export async function benchReferences(): Promise<void> {
  const dataDir = temporaryFolder()
  const database = await openEmbeddedPostgres({ dataDir, use: 'command' })
  const redis = await startRedis()
  const run = async (file: string) =>
    perSecond(await runReference(file, { REDIS_URL: redis.url, DATABASE_URL: database.url }))
  try {
    const figures = await interleave({
      'bullmq-noop': () => run('bullmq-noop.js'),
      'bullmq-feeder': () => run('bullmq-feeder.js'),
      'seed-pipeline': () => run('seed-pipeline.js'),
    })
    console.log(absoluteTable('jobs per second', figures).join('\n'))
  } finally {
    await redis.stop()
    await database.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}
