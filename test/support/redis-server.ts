import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort } from './faults.ts'
import { makeTestFolder } from './postgres.ts'
import { reapWithUs } from './reaper.ts'

export type RedisServer = {
  url: string
  directory: string
  /** A connection of the test's own, made anew after each start. */
  client: () => Redis
  start: () => Promise<void>
  kill: (signal?: NodeJS.Signals) => Promise<void>
  close: () => Promise<void>
}

const CONFIG = join(import.meta.dirname, '../../ops/redis.conf')

/** A Redis of one's own, on a port that it keeps, with the settings for production. */
export async function startRedis(): Promise<RedisServer> {
  const directory = await makeTestFolder()
  const port = await freePort()
  let child: ChildProcess | null = null
  let client: Redis | null = null

  async function start(): Promise<void> {
    const settings = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory]
    child = spawn('redis-server', [CONFIG, ...settings], { stdio: 'ignore' })
    reapWithUs(child)
    const exited = once(child, 'exit')
    client = new Redis(port, '127.0.0.1', { retryStrategy: () => 50, maxRetriesPerRequest: null }).on('error', () => {})
    const failed = exited.then(([code]) => Promise.reject(new Error(`redis-server ended with ${code}`)))
    // Loading its file, it answers with an error at first.
    const answers = async () => {
      while ((await client!.ping().catch(() => '')) !== 'PONG') await new Promise(resolve => setTimeout(resolve, 20))
    }
    await Promise.race([answers(), failed])
    failed.catch(() => {})
  }

  async function kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    client?.disconnect()
    client = null
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }

  await start()
  return {
    url: `redis://127.0.0.1:${port}`,
    directory,
    client: () => client!,
    start,
    kill,
    async close() {
      await kill()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
