import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const SERVERS = join(import.meta.dirname, '../servers')
const LIMIT_MS = 300_000

export type Drained = { jobs: number; ms: number }

/** Runs a reference of bench/servers in a process of its own, to its end; its last line is what it measured. */
export async function runReference(file: string, env: Record<string, string>): Promise<Drained> {
  const { stdout } = await promisify(execFile)('node', [join(SERVERS, file)], {
    env: { ...process.env, ...env },
    timeout: LIMIT_MS,
  })
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as Drained
}

export const perSecond = ({ jobs, ms }: Drained) => (jobs * 1000) / ms

/** The other side: how many jobs are asked for, and how many are worked on before the measurement, uncounted. */
export function orders(): { redisUrl: string; jobs: number; warmUpJobs: number } {
  const { REDIS_URL, JOBS = '20000', WARM_UP_JOBS = '3000' } = process.env
  if (!REDIS_URL) throw new Error('REDIS_URL is not set')
  return { redisUrl: REDIS_URL, jobs: Number(JOBS), warmUpJobs: Number(WARM_UP_JOBS) }
}

export function answer(drained: Drained): void {
  process.stdout.write(`${JSON.stringify(drained)}\n`)
}
