import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedPostgres } from '../../src/platform/postgres/embedded/index.ts'
import type { Role } from '../../src/settings/config.ts'
import { makeTestFolder, putMadeCluster } from './postgres.ts'
import { reapWithUs } from './reaper.ts'

export const ROOT = join(import.meta.dirname, '../..')
export const BIN = join(ROOT, 'bin/email-gateway.js')

const READY_MS = 30_000
const COMMAND_MS = 30_000

type Exit = { code: number | null; signal: NodeJS.Signals | null }
export type Ended = Exit & { stdout: string; stderr: string }

export type SpawnedGateway = {
  url: string
  /** Of the DATA_DIR's first start; empty with a DATABASE_URL. */
  apiKey: string
  adminPassword: string
  /** Standard output so far. */
  output: () => string
  errors: () => string
  pid: number
  /** To the gateway alone, or to its whole process group as a terminal does. */
  signal: (name: NodeJS.Signals, whom?: 'process' | 'group') => void
  exited: Promise<Exit>
}

type Environment = { env?: Record<string, string>; cwd?: string }
type GatewayOptions = Environment & { role?: Role; args?: string[] }

const children = new Set<ChildProcess>()
const dataDirs = new Set<string>()
const later: (() => unknown)[] = []
// A run that is broken off leaves no process behind; its folders are found by the next run.
process.on('exit', () => children.forEach(child => void child.kill('SIGKILL')))

/** A DATA_DIR that cleanUp() empties of its server and removes. */
export async function makeDataDir(): Promise<string> {
  const folder = await makeTestFolder()
  dataDirs.add(folder)
  return folder
}

/** The same for a gateway whose first start is not what the test is about. */
export async function makeDataDirWithCluster(): Promise<string> {
  const folder = await makeDataDir()
  await putMadeCluster(folder)
  return folder
}

/** Something else to undo in cleanUp(), last first. */
export function atCleanUp(undo: () => unknown): void {
  later.push(undo)
}

/** Ends every process that was started here, every embedded server that one of them left, and removes the folders. */
export async function cleanUp(): Promise<void> {
  await Promise.all([...children].map(killed))
  for (const undo of later.splice(0).reverse()) await undo()
  await Promise.all([...dataDirs].map(removeDataDir))
}

async function removeDataDir(dataDir: string): Promise<void> {
  // What a killed gateway left running is taken over and stopped, as the next gateway would.
  if (existsSync(join(dataDir, 'postgres/postmaster.pid'))) {
    await openEmbeddedPostgres({ dataDir, use: 'command' }).then(server => server.close())
  }
  await rm(dataDir, { recursive: true, force: true, maxRetries: 5 })
  dataDirs.delete(dataDir)
}

/** Starts the gateway as everybody does and waits until it has said all it says at its start. */
export async function spawnGateway(options: GatewayOptions = {}): Promise<SpawnedGateway> {
  const { env = {}, role = 'all' } = options
  const gateway = launchGateway(options)
  await gateway.printed(role === 'worker' ? /Sending the e-mails/ : /API at http/)
  const { apiKey, adminPassword } = await readFirstStart(env.DATA_DIR ?? '')
  return { ...gateway, url: /API at (http:\/\/[^\s,]+)/.exec(gateway.output())?.[1] ?? '', apiKey, adminPassword }
}

/** What the first start of an embedded gateway wrote for its owner; empty where there was none. */
export async function readFirstStart(dataDir: string) {
  const file = join(dataDir, 'first-start.txt')
  const text = dataDir && existsSync(file) ? await readFile(file, 'utf8') : ''
  return {
    file,
    text,
    apiKey: /API key\s+(sk_live_\w+)/.exec(text)?.[1] ?? '',
    adminPassword: /Password\s+(\S+)/.exec(text)?.[1] ?? '',
  }
}

/** Starts the gateway and does not wait: for those that are to be killed, or to refuse. */
export function launchGateway({ env, cwd, role, args = [] }: GatewayOptions = {}) {
  const words = ['start', ...(role ? ['--role', role] : []), ...args]
  return watched(launch(words, { ...(env && { env }), ...(cwd && { cwd }) }))
}

/** A shell script that goes on until its group is told to stop. */
export function launchShell(script: string, options: Environment = {}) {
  return watched(shell(script, options))
}

function watched(child: ChildProcess) {
  let stdout = ''
  let stderr = ''
  child.stdout!.on('data', chunk => (stdout += chunk))
  child.stderr!.on('data', chunk => (stderr += chunk))
  const exited = exitOf(child)
  return {
    pid: child.pid!,
    exited,
    output: () => stdout,
    errors: () => stderr,
    signal: (name: NodeJS.Signals, whom: 'process' | 'group' = 'process') =>
      void process.kill(whom === 'group' ? -child.pid! : child.pid!, name),
    async printed(pattern: RegExp): Promise<void> {
      const deadline = Date.now() + READY_MS
      while (!pattern.test(stdout)) {
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`The gateway ended with ${child.exitCode ?? child.signalCode}: ${stdout}${stderr}`)
        if (Date.now() > deadline) throw new Error(`Not printed within ${READY_MS} ms: ${pattern}\n${stdout}${stderr}`)
        await new Promise(resolve => setTimeout(resolve, 10))
      }
    },
  }
}

/** Runs one command of the gateway to its end. A command that does not end is killed: code null, signal SIGKILL. */
export async function runGateway(args: string[], options: Environment & { patienceMs?: number } = {}): Promise<Ended> {
  return collect(launch(args, options), options.patienceMs)
}

/** Each costs as much as twenty commands, so tests that run at the same time share these few. */
const MAX_RUNNERS = 2
const runners: { process: ChildProcess; free: Promise<unknown> }[] = []
let commands = 0

/**
 * The same in a process that has loaded the commands before, which is ten times as fast: for what a command does and says, not for
 * how its process starts and ends.
 */
export function runCommand(args: string[], { env, cwd = tmpdir() }: Environment = {}): Promise<Ended> {
  if (runners.length < MAX_RUNNERS) runners.push({ process: startRunner(), free: Promise.resolve() })
  const runner = runners[commands++ % runners.length]!
  const ended = runner.free.then(() => {
    // One that ended fails its own command only.
    if (!runner.process.connected) runner.process = startRunner()
    return runIn(runner.process, { args, env: environment(env), cwd })
  })
  runner.free = ended.catch(() => {})
  return ended
}

async function runIn(runner: ChildProcess, command: { args: string[]; env: object; cwd: string }): Promise<Ended> {
  const done = new AbortController()
  const exited = once(runner, 'exit', { signal: done.signal }).then(([code]) => {
    throw new Error(`The process that runs commands ended with ${code} in: ${command.args.join(' ')}`)
  })
  exited.catch(() => {})
  const ended = once(runner, 'message') as Promise<[Ended]>
  runner.send(command)
  const [answer] = await Promise.race([ended, exited]).finally(() => done.abort())
  return answer
}

/** It ends when the test process does, and does not keep it alive. */
function startRunner(): ChildProcess {
  const runner = fork(join(import.meta.dirname, 'command-runner.mjs'), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  runner.unref()
  runner.channel!.unref()
  return runner
}

/** Runs a shell script to its end. */
export async function runShell(script: string, options: Environment & { patienceMs?: number } = {}): Promise<Ended> {
  return collect(shell(script, options), options.patienceMs)
}

function shell(script: string, { env, cwd = ROOT }: Environment): ChildProcess {
  const child = spawn('sh', ['-c', script], { cwd, env: environment(env), detached: true })
  children.add(child)
  return child
}

/** Only what a test names: the settings of whoever runs the tests do not count. */
function environment(env: Record<string, string> = {}): Record<string, string> {
  return { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env }
}

/** Not in the clone: whoever runs the tests may have a .env there. */
function launch(args: string[], { env, cwd = tmpdir() }: Environment): ChildProcess {
  // A group of its own, so that a signal for the group does not meet the test.
  const child = spawn(process.execPath, [BIN, ...args], { cwd, env: environment(env), detached: true })
  children.add(child)
  reapWithUs(child)
  return child
}

async function collect(child: ChildProcess, patienceMs = COMMAND_MS): Promise<Ended> {
  let stdout = ''
  let stderr = ''
  child.stdout!.on('data', chunk => (stdout += chunk))
  child.stderr!.on('data', chunk => (stderr += chunk))
  const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), patienceMs)
  const exit = await exitOf(child)
  clearTimeout(timer)
  return { ...exit, stdout, stderr }
}

/** After the last of its output. */
async function exitOf(child: ChildProcess): Promise<Exit> {
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  children.delete(child)
  return { code, signal }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
  children.delete(child)
}
