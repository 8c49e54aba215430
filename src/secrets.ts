import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export type KeptSecrets = { encryptionKey: string; hashPepper: string }

/** Something about the folder of the data is wrong; the message says what. */
export class SecretsError extends Error {
  override name = 'SecretsError'
}

/** Embedded: secrets are made once and kept beside the data they protect, readable by the owner only. */
export function keepSecrets(dataDir: string): KeptSecrets {
  return findSecrets(dataDir) ?? read(makeOnce(dataDir, fileOf(dataDir)), fileOf(dataDir))
}

/** null: none were made yet. */
export function findSecrets(dataDir: string): KeptSecrets | null {
  const text = readIfThere(fileOf(dataDir))
  return text === null ? null : read(text, fileOf(dataDir))
}

const fileOf = (dataDir: string) => join(dataDir, 'secrets.json')

function read(text: string, file: string): KeptSecrets {
  const kept = parse(text)
  if (kept) return kept
  throw new SecretsError(
    `${file} is damaged; it holds the keys of everything encrypted and hashed: restore it from a backup.`,
  )
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw new SecretsError(`DATA_DIR: ${file} cannot be read (${message}).`)
  }
}

/** Written whole under another name first. Of two first starts at once, the file of one stays and both use it. */
function makeOnce(dataDir: string, file: string): string {
  const made = { encryptionKey: randomBytes(32).toString('hex'), hashPepper: randomBytes(32).toString('hex') }
  const draft = `${file}.${process.pid}-${randomBytes(4).toString('hex')}`
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o711 })
    const descriptor = openSync(draft, 'wx', 0o600)
    writeSync(descriptor, `${JSON.stringify(made, null, 2)}\n`)
    fsyncSync(descriptor)
    closeSync(descriptor)
    linkSync(draft, file)
  } catch (error) {
    const { code, message, syscall } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST' || syscall !== 'link')
      throw new SecretsError(`DATA_DIR: ${dataDir} cannot be written (${message}).`)
  } finally {
    rmSync(draft, { force: true })
  }
  return readFileSync(file, 'utf8')
}

function parse(text: string): KeptSecrets | null {
  try {
    const { encryptionKey, hashPepper } = JSON.parse(text) as Partial<KeptSecrets>
    const whole = /^[0-9a-f]{64}$/.test(encryptionKey ?? '') && (hashPepper ?? '').length >= 32
    return whole ? { encryptionKey: encryptionKey!, hashPepper: hashPepper! } : null
  } catch {
    return null
  }
}
