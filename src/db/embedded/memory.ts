import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { link, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, EmbeddedPostgresError } from './error.ts'
import { giveToOwnerOf, syncFolder } from './folders.ts'

/** What <dataDir>/postgres.json keeps. `directory` is there only when the cluster is outside dataDir. */
export type Memory = { password: string; port: number; directory?: string }

const fileOf = (dataDir: string) => join(dataDir, 'postgres.json')

export const urlOf = ({ password, port }: Memory) => `postgres://gateway:${password}@127.0.0.1:${port}/gateway`

export function recall(dataDir: string): Memory | undefined {
  const file = fileOf(dataDir)
  try {
    return parse(readFileSync(file, 'utf8'), file)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    if (codeOf(error) !== 'EACCES') throw error
    throw new EmbeddedPostgresError(
      `${file} belongs to another user: start the gateway as the user who made it, or give this one its own DATA_DIR.`,
    )
  }
}

function parse(text: string, file: string): Memory {
  try {
    const memory = JSON.parse(text) as Memory
    if (typeof memory.password === 'string' && Number.isInteger(memory.port)) return memory
  } catch {
    // The sentence below says it.
  }
  throw new EmbeddedPostgresError(
    `${file} is damaged; it holds the password of the embedded database: restore it from a backup.`,
  )
}

/** Of two first starts at the same time one decides the password; both get the same answer. */
export async function agreeOn(dataDir: string, proposal: Omit<Memory, 'password'>): Promise<Memory> {
  const memory = { password: randomBytes(24).toString('base64url'), ...proposal }
  const draft = await writeDraft(dataDir, memory)
  try {
    await link(draft, fileOf(dataDir))
    await syncFolder(dataDir)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  } finally {
    await rm(draft, { force: true })
  }
  return recall(dataDir) ?? memory
}

export async function saveState(dataDir: string, memory: Memory): Promise<void> {
  await rename(await writeDraft(dataDir, memory), fileOf(dataDir))
  await syncFolder(dataDir)
}

async function writeDraft(dataDir: string, memory: Memory): Promise<string> {
  const draft = `${fileOf(dataDir)}.${process.pid}-${randomBytes(4).toString('hex')}`
  const file = await open(draft, 'wx', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(memory, null, 2)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await giveToOwnerOf(dataDir, draft)
  return draft
}
