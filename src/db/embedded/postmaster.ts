import { randomUUID } from 'node:crypto'
import { readFile, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { run } from './run.ts'

/** postmaster.pid, which Postgres writes: pid, folder, start time, port, … one per line. */
export type PidFile = { pid: number; port: number | undefined; status: 'ready' | 'starting'; text: string }

const fileOf = (directory: string) => join(directory, 'postmaster.pid')

export async function readPidFile(directory: string): Promise<PidFile | undefined> {
  const text = await readFile(fileOf(directory), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const lines = text.split('\n')
  const pid = Math.abs(Number(lines[0]))
  if (!Number.isInteger(pid) || pid === 0) return undefined
  const status = lines[7]?.trim() === 'ready' ? 'ready' : 'starting'
  return { pid, port: Number(lines[3]) || undefined, status, text }
}

/**
 * Whether the process is the server of exactly this folder. The pid file does not prove it: the pid may have been reused, and
 * in a copied folder the file names the server of the original.
 */
export async function isServerOf(directory: string, pid: number): Promise<boolean> {
  const [program, ...args] = await commandLine(pid)
  if (!program || !/^postgres(\.exe)?$/.test(basename(program))) return false
  return `${args.join(' ')} `.startsWith(`-D ${directory} `)
}

async function commandLine(pid: number): Promise<string[]> {
  if (process.platform === 'linux') {
    const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    return text.split('\0')
  }
  const listed = await run('ps', ['-p', String(pid), '-o', 'command=']).catch(() => undefined)
  const [program, args] = (listed?.output ?? '').split(/ (?=-D )/)
  return program && args ? [program, args] : []
}

export async function discardPidFile(directory: string, stale: PidFile): Promise<void> {
  const aside = `${fileOf(directory)}.stale-${randomUUID()}`
  await rename(fileOf(directory), aside).catch(() => undefined)
  const text = await readFile(aside, 'utf8').catch(() => undefined)
  // Another process may have discarded the stale file first, and this is the file of the server it started.
  if (text !== undefined && text !== stale.text) await rename(aside, fileOf(directory))
  else await rm(aside, { force: true })
}
