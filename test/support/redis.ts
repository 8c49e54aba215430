import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { Redis } from 'ioredis'
import { makeTestFolder } from './postgres.ts'

export type TestRedis = {
  /** Of one of its sixteen databases: each gateway that must not meet another has its own. */
  url: (database?: number) => string
  /** A connection of the test's own; closed with the server. */
  client: (database?: number) => Redis
  stop: () => Promise<void>
}

const SETTINGS = '--appendonly yes --appendfsync everysec --maxmemory-policy noeviction --save  --bind 127.0.0.1'
const READY_MS = 10_000
const TRIES = 3

const children = new Set<ChildProcess>()
// A run that is broken off leaves no server behind.
process.on('exit', () => children.forEach(child => void child.kill('SIGKILL')))

/** A real server on a free port, with the settings that production wants, in a folder that is removed with it. */
export async function startTestRedis(): Promise<TestRedis> {
  const folder = await makeTestFolder()
  for (let tried = 1; ; tried++) {
    const port = await freePort()
    const child = spawn('redis-server', ['--port', String(port), '--dir', folder, ...SETTINGS.split(' ')], {
      stdio: 'ignore',
    })
    children.add(child)
    const exited = once(child, 'exit').finally(() => children.delete(child))
    if (await answers(port, exited)) return handle(port, folder, child, exited)
    child.kill('SIGKILL')
    await exited
    if (tried === TRIES) throw new Error('redis-server does not start')
  }
}

function handle(port: number, folder: string, child: ChildProcess, exited: Promise<unknown>): TestRedis {
  const clients: Redis[] = []
  const url = (database = 0) => `redis://127.0.0.1:${port}/${database}`
  return {
    url,
    client(database) {
      const client = new Redis(url(database), { maxRetriesPerRequest: 3 }).on('error', () => {})
      clients.push(client)
      return client
    },
    async stop() {
      for (const client of clients) client.disconnect()
      child.kill('SIGKILL')
      await exited
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** False when it ended instead, since another took the port in between. */
async function answers(port: number, exited: Promise<unknown>): Promise<boolean> {
  const client = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: null, retryStrategy: () => 20 })
  client.on('error', () => {})
  const late = new Promise<false>(resolve => setTimeout(resolve, READY_MS, false).unref())
  try {
    return await Promise.race([client.ping().then(() => true), exited.then(() => false), late])
  } finally {
    client.disconnect()
  }
}
