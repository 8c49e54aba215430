import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Compiled by tsc like the product, so that no loader slows a reference down. */
const SERVERS = join(import.meta.dirname, '../servers')
const ROOT = join(import.meta.dirname, '../../..')

const started = new Set<ChildProcess>()
/** A benchmark that breaks leaves nothing running. */
process.on('exit', () => started.forEach(child => void child.kill('SIGTERM')))

export type Running = { url: string; pid: number; output: string; stop(): Promise<void> }
export type RunningGateway = Running & { apiKey: string; dataDir: string }

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'email-gateway-bench-'))
  chmodSync(folder, 0o755)
  return folder
}

/** The product as it is started by everybody, on a database of its own, accepting only. */
export async function startOurs(env: Record<string, string> = {}, role = 'api'): Promise<RunningGateway> {
  const dataDir = env.DATA_DIR ?? temporaryFolder()
  const child = spawn('node', ['bin/email-gateway.js', 'start', '--role', role], {
    cwd: ROOT,
    env: { ...process.env, PORT: '0', DATA_DIR: dataDir, ...env },
  })
  const output = await outputUntil(child, /API at \S+,/)
  const url = /API at (\S+),/.exec(output)![1]!
  const apiKey = firstKeyIn(dataDir)
  return {
    url,
    apiKey,
    dataDir,
    output,
    pid: child.pid!,
    async stop() {
      await ended(child)
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** Empty on a database that has a company already. */
function firstKeyIn(dataDir: string): string {
  const file = join(dataDir, 'first-start.txt')
  return (existsSync(file) && /sk_live_\w+/.exec(readFileSync(file, 'utf8'))?.[0]) || ''
}

/** A process of the product that only sends, on a given database. */
export async function startWorker(env: Record<string, string>): Promise<Running> {
  const child = spawn('node', ['bin/email-gateway.js', 'start', '--role', 'worker'], {
    cwd: ROOT,
    env: { ...process.env, ...env },
  })
  const output = await outputUntil(child, /Sending the e-mails of this database/)
  return { url: '', pid: child.pid!, output, stop: () => ended(child) }
}

/** A reference server of bench/servers; it prints its URL as its first line. */
export async function startServer(file: string, env: Record<string, string> = {}): Promise<Running> {
  const child = spawn('node', [join(SERVERS, file)], {
    cwd: ROOT,
    env: { ...process.env, ...env },
  })
  const output = await outputUntil(child, /http:\S+\n/)
  return { url: /http:\S+/.exec(output)![0], pid: child.pid!, output, stop: () => ended(child) }
}

/** The settings that the docs demand: AOF every second, no eviction. */
export async function startRedis(): Promise<Running> {
  const folder = temporaryFolder()
  const port = await freePort()
  const options = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--appendonly',
    'yes',
    '--appendfsync',
    'everysec',
    '--maxmemory-policy',
    'noeviction',
    '--save',
    '',
  ]
  const child = spawn('redis-server', options)
  const output = await outputUntil(child, /Ready to accept connections/)
  return {
    url: `redis://127.0.0.1:${port}`,
    pid: child.pid!,
    output,
    async stop() {
      await ended(child)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export function residentMegabytes(pid: number): number {
  const kilobytes = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])
  return kilobytes / 1024
}

function freePort(): Promise<number> {
  return new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

function outputUntil(child: ChildProcess, pattern: RegExp): Promise<string> {
  started.add(child)
  return new Promise((resolve, reject) => {
    let output = ''
    let errors = ''
    const onData = (chunk: Buffer) => {
      output += chunk
      if (!pattern.test(output)) return
      child.stdout!.off('data', onData)
      child.stdout!.resume()
      resolve(output)
    }
    child.stdout!.on('data', onData)
    child.stderr!.on('data', chunk => {
      errors += chunk
    })
    child.on('exit', code => reject(new Error(`ended with ${code} before it was ready: ${output}${errors}`)))
  })
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise(resolve => {
    child.removeAllListeners('exit')
    child.once('exit', () => {
      started.delete(child)
      resolve()
    })
    child.kill('SIGTERM')
  })
}
