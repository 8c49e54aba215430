import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { chmod, lstat, mkdir, mkdtemp, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { basename, dirname, join, parse } from 'node:path'
import { codeOf, EmbeddedPostgresError } from './errors.ts'

// Processes

type Finished = { code: number; output: string }

type RunOptions = {
  user?: ServerUser | undefined
  /** An open file for the output of the command and of the processes that it leaves running. */
  outputTo?: number
  /** In its own session, so that Ctrl-C in our terminal does not end it. */
  detached?: boolean
}

// The gateway's environment contains secrets and PG* variables, which the server's processes must not see.
const CLEAN_ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' }

/** Rejects only when the command cannot be started; a failure is an exit code. */
export function run(command: string, args: string[], options: RunOptions = {}): Promise<Finished> {
  const { user, outputTo, detached = false } = options
  const output = outputTo ?? 'pipe'
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: parse(command).root || '/',
      stdio: ['ignore', output, output],
      detached,
      windowsHide: true,
      ...(process.platform === 'win32' ? {} : { env: CLEAN_ENVIRONMENT }),
      ...(user ? { uid: user.uid, gid: user.gid } : {}),
    })
    let text = ''
    const collect = (chunk: Buffer) => {
      text += chunk.toString()
    }
    child.stdout?.on('data', collect)
    child.stderr?.on('data', collect)
    child.on('error', reject)
    // A server that keeps running has the inherited file open, and 'close' would wait for it: use 'exit' there.
    child.on(outputTo === undefined ? 'close' : 'exit', code => resolve({ code: code ?? 1, output: text.trim() }))
  })
}

export const lastLine = (text: string): string => text.trim().split('\n').at(-1)?.trim() ?? ''

/** True for zombies, too. */
export function pidExists(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

export function isAlive(pid: number): boolean {
  return pidExists(pid) && !isZombie(pid)
}

function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false
  try {
    // "123 (name) S …": the name may contain any character, also a parenthesis.
    return /^.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}

// Users

export type ServerUser = { name: string; uid: number; gid: number }

export const isRoot = (): boolean => process.getuid?.() === 0

/** Postgres refuses to run as root, so another user runs it: the owner of an existing cluster, else "postgres", else "nobody". */
export async function chooseServerUser(clusterOwner?: { uid: number; gid: number }): Promise<ServerUser> {
  if (clusterOwner && clusterOwner.uid !== 0) {
    const { uid, gid } = clusterOwner
    return (await findUser(user => user.uid === uid)) ?? { name: `uid ${uid}`, uid, gid }
  }
  const named = (name: string) => findUser(user => user.name === name)
  const user = (await named('postgres')) ?? (await createPostgresUser().then(() => named('postgres')))
  const found = user ?? (await named('nobody'))
  if (found) return found
  throw new EmbeddedPostgresError(
    'Postgres does not run as root, and there is no user "postgres" or "nobody" to run it: create the user "postgres", start the gateway as an ordinary user, or set DATABASE_URL.',
  )
}

async function createPostgresUser(): Promise<void> {
  const args = ['--system', '--no-create-home', '--shell', '/usr/sbin/nologin', 'postgres']
  await run('useradd', args).catch(() => undefined)
}

async function findUser(matches: (user: ServerUser) => boolean): Promise<ServerUser | undefined> {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '')
  return text
    .split('\n')
    .map(line => line.split(':'))
    .filter(fields => /^\d+$/.test(fields[2] ?? '') && /^\d+$/.test(fields[3] ?? ''))
    .map(fields => ({ name: fields[0]!, uid: Number(fields[2]), gid: Number(fields[3]) }))
    .find(matches)
}

/** Whether the user may enter the folder and every folder above it (not below /root, which has mode 0700). */
export async function canReach(user: ServerUser, folder: string): Promise<boolean> {
  return (await run('test', ['-x', folder], { user })).code === 0
}

// Ports

export function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}

/** Below the ephemeral port range, so that the port is most likely still free at the next start. */
export async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(20_000, 30_000)
    if (await isFree(port)) return port
  }
  throw new Error('no free port between 20000 and 29999')
}

// Folders

export async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

/** Without fsync of the folder a power cut may undo a rename. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}

/** For root only: a folder that the server's user can reach. */
export async function makeSystemDir(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
    await chmod(folder, 0o755)
  } catch (error) {
    throw new EmbeddedPostgresError(
      `Postgres does not run as root and ${folder} cannot be created for it (${codeOf(error)}): start the gateway as an ordinary user, or set DATABASE_URL.`,
    )
  }
}

type FolderToCreate = {
  target: string
  isComplete: () => Promise<boolean>
  /** Creates `draft/made`, which is then renamed to the target. */
  create: (draft: string) => Promise<void>
}

/**
 * Creates the folder completely or not at all: it is filled under a temporary name and renamed when complete. Of two simultaneous
 * processes one creates it, and the other, whose draft is removed, uses it. So is the draft of a process that was killed.
 */
export async function createFolderAtomically({ target, isComplete, create }: FolderToCreate): Promise<void> {
  const parent = dirname(target)
  const prefix = `${basename(target)}.new-`
  if (!(await isComplete())) {
    const draft = await mkdtemp(join(parent, prefix))
    try {
      await create(draft)
      await rename(join(draft, 'made'), target)
      await syncFolder(parent)
    } catch (error) {
      if (!(await isComplete())) throw error
    } finally {
      await removeTree(draft)
    }
  }
  for (const name of await readdir(parent)) if (name.startsWith(prefix)) await removeTree(join(parent, name))
}

/** Retries: the initdb of a killed gateway may still be writing. */
function removeTree(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
}
