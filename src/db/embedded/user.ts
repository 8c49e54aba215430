import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { EmbeddedPostgresError } from './error.ts'
import { run } from './run.ts'

export type ServerUser = { name: string; uid: number; gid: number }

export const isRoot = (): boolean => process.getuid?.() === 0

/** Postgres refuses to run as root, so another user runs it: the owner of an existing cluster, else "postgres", else "nobody". */
export async function chooseServerUser(clusterOwner?: { uid: number; gid: number }): Promise<ServerUser> {
  if (clusterOwner && clusterOwner.uid !== 0) return ownerAsUser(clusterOwner)
  const user = (await lookUp('postgres')) ?? (await createPostgresUser()) ?? (await lookUp('nobody'))
  if (user) return user
  throw new EmbeddedPostgresError(
    'Postgres does not run as root, and there is no user "postgres" or "nobody" to run it: create the user "postgres", start the gateway as an ordinary user, or set DATABASE_URL.',
  )
}

async function ownerAsUser({ uid, gid }: { uid: number; gid: number }): Promise<ServerUser> {
  const known = (await passwd()).find(user => user.uid === uid)
  return known ?? { name: `uid ${uid}`, uid, gid }
}

async function createPostgresUser(): Promise<ServerUser | undefined> {
  const args = ['--system', '--no-create-home', '--shell', '/usr/sbin/nologin', 'postgres']
  await run('useradd', args).catch(() => undefined)
  return lookUp('postgres')
}

async function lookUp(name: string): Promise<ServerUser | undefined> {
  return (await passwd()).find(user => user.name === name)
}

async function passwd(): Promise<ServerUser[]> {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '')
  return text
    .split('\n')
    .map(line => line.split(':'))
    .filter(fields => /^\d+$/.test(fields[2] ?? '') && /^\d+$/.test(fields[3] ?? ''))
    .map(fields => ({ name: fields[0]!, uid: Number(fields[2]), gid: Number(fields[3]) }))
}

/** Whether the user may enter the folder and every folder above it (not below /root, which has mode 0700). */
export async function canReach(user: ServerUser, folder: string): Promise<boolean> {
  for (let at = await realpath(folder); ; at = dirname(at)) {
    if (!mayEnter(user, await stat(at))) return false
    if (at === dirname(at)) return true
  }
}

function mayEnter(user: ServerUser, folder: { mode: number; uid: number; gid: number }): boolean {
  if (folder.uid === user.uid) return (folder.mode & 0o100) !== 0
  if (folder.gid === user.gid) return (folder.mode & 0o010) !== 0
  return (folder.mode & 0o001) !== 0
}
