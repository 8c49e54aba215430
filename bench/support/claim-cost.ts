import { readFileSync } from 'node:fs'
import type pg from 'pg'
import { openDatabase } from '../../src/platform/postgres/pool.ts'
import { ReadyVacuum } from '../../src/platform/postgres/vacuum.ts'

export type Claim = {
  /** Takes up to `size` e-mails and answers how many it got. */
  take: (client: pg.ClientBase, size: number) => Promise<number>
  /** What it takes from, and where it puts its leases. */
  queue: string
  leases: string
}

export type ClaimCost = { emails: number; ms: number; cpuMicrosPerEmail: number }

/** Linux counts a process's time in hundredths of a second, whatever the kernel's own clock. */
const TICK_MICROS = 10_000
/** Long enough for Postgres to have prepared, planned and cached what the claim touches. */
const WARM_UP_CLAIMS = 10

/**
 * Wall time and the backend's own CPU of `claims` claims, one after the other on one connection of the line's pool, so that
 * every claim is measured under the settings the product runs with. It needs the server on this machine.
 *
 * Other connections do what the line does between two claims, whoever claims: the queue is cleaned every so many e-mails, and what was
 * claimed starts, whose commit takes the log to the disk. Before that, Postgres cannot mark what a claim deleted as gone,
 * and every claim looks at all of it again.
 */
export async function measureClaims(
  databaseUrl: string,
  claim: Claim,
  { claims, size }: { claims: number; size: number },
): Promise<ClaimCost> {
  const database = openDatabase(databaseUrl, () => {})
  const client = await database.short.connect()
  const vacuum = new ReadyVacuum(database.pool, claim.queue, [claim.leases])
  const claimNext = async () => {
    await claimFull(client, claim, size)
    await database.pool.query(`select pg_logical_emit_message(true, 'a start', '')`)
    vacuum.count(size)
    await vacuum.clean()
  }
  try {
    const backend = await backendPid(client)
    for (let n = 0; n < WARM_UP_CLAIMS; n++) await claimNext()
    const cpuBefore = threadMicros(backend)
    const startedMs = performance.now()
    for (let n = 0; n < claims; n++) await claimNext()
    const ms = performance.now() - startedMs
    const emails = claims * size
    return { emails, ms, cpuMicrosPerEmail: (threadMicros(backend) - cpuBefore) / emails }
  } finally {
    client.release()
    await database.close()
  }
}

/** A claim that comes back short says that the backlog was too small for what is being measured. */
async function claimFull(client: pg.ClientBase, claim: Claim, size: number): Promise<void> {
  const got = await claim.take(client, size)
  if (got !== size) throw new Error(`A claim of ${size} got ${got}: the backlog is too small for this measurement`)
}

async function backendPid(client: pg.ClientBase): Promise<number> {
  return (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid
}

/** Of a process with one thread, as a Postgres backend is: to the nanosecond, where ticks would miss most of a claim. */
function threadMicros(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000
}

/** User and system time, in ticks, of all threads; the fields are counted after the command's name, which may hold spaces. */
export function cpuMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MICROS
}
