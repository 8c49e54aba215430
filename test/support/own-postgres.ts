import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import pg from 'pg'
import { findNativePackage, prepareBinaries } from '../../src/platform/postgres/embedded/binaries.ts'
import { openEmbeddedPostgres } from '../../src/platform/postgres/embedded/index.ts'
import { chooseServerUser, isRoot } from '../../src/platform/postgres/embedded/system.ts'
import { migrate } from '../../src/platform/postgres/migrate.ts'
import { until } from './gateway.ts'
import { makeTestFolder, putMadeCluster } from './postgres.ts'
import { reapWithUs } from './reaper.ts'

export type OwnPostgres = {
  url: string
  start: () => Promise<void>
  /** The postmaster and all its children at once, as the kernel does when memory is short. */
  kill: () => Promise<void>
  close: () => Promise<void>
}

/** A migrated server that nobody looks after, with the durability of production. */
export async function startOwnPostgres(): Promise<OwnPostgres> {
  const dataDir = await makeTestFolder()
  await putMadeCluster(dataDir)
  const made = await openEmbeddedPostgres({ dataDir, use: 'command' })
  const { url, directory } = made
  await migrate(url)
  await made.close()
  const user = isRoot() ? await chooseServerUser() : undefined
  const systemDir = '/var/lib/email-gateway'
  const { postgres } = await prepareBinaries(await findNativePackage(), { user, systemDir, logInfo: () => {} })
  let server: ChildProcess | null = null

  async function start(): Promise<void> {
    const owner = user ? { uid: user.uid, gid: user.gid } : {}
    // The default of 100 is enough for three processes of the gateway.
    server = spawn(postgres, ['-D', directory, '-c', 'max_connections=200'], {
      cwd: '/',
      stdio: 'ignore',
      detached: true,
      ...owner,
    })
    reapWithUs(server)
    await until(() => answers(url), Boolean, 60_000)
  }

  async function kill(): Promise<void> {
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const exited = once(server, 'exit')
    killAll(server.pid)
    await exited
  }

  await start()
  return {
    url,
    start,
    kill,
    async close() {
      await kill()
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 })
      if (!directory.startsWith(dataDir)) await rm(dirname(directory), { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

function killAll(postmaster: number | undefined): void {
  if (!postmaster) return
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').trim().split(' ')
  for (const pid of [postmaster, ...children.filter(Boolean).map(Number)]) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}
