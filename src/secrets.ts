import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'

export type StoredSecrets = { encryptionKey: string; hashPepper: string }

/** DATA_DIR or the secrets file in it cannot be used; the message says why. */
export class SecretsError extends Error {
  override name = 'SecretsError'
}

/** For the embedded database: secrets are generated once and stored beside its data, readable by the owner only. */
export function makeSecrets(dataDir: string): StoredSecrets {
  return findSecrets(dataDir) ?? read(makeOnce(dataDir, fileOf(dataDir)), fileOf(dataDir))
}

/** null: none were generated yet. */
export function findSecrets(dataDir: string): StoredSecrets | null {
  const text = readIfExists(fileOf(dataDir))
  return text === null ? null : read(text, fileOf(dataDir))
}

/** Whether there is an embedded gateway in this folder. */
export const hasSecrets = (dataDir: string) => existsSync(fileOf(dataDir))

const fileOf = (dataDir: string) => join(dataDir, 'secrets.json')

function read(text: string, file: string): StoredSecrets {
  const secrets = parse(text)
  if (secrets) return secrets
  throw new SecretsError(
    `${file} is damaged; it holds the keys of everything encrypted and hashed: restore it from a backup.`,
  )
}

function readIfExists(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw new SecretsError(`DATA_DIR: ${file} cannot be read (${message}).`)
  }
}

/** Written under a temporary name and linked: of two first starts at the same time, one file wins and both use it. */
function makeOnce(dataDir: string, file: string): string {
  const secrets = { encryptionKey: randomBytes(32).toString('hex'), hashPepper: randomBytes(32).toString('hex') }
  const draft = `${file}.${process.pid}-${randomBytes(4).toString('hex')}`
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o711 })
    const descriptor = openSync(draft, 'wx', 0o600)
    writeSync(descriptor, `${JSON.stringify(secrets, null, 2)}\n`)
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

function parse(text: string): StoredSecrets | null {
  try {
    const { encryptionKey, hashPepper } = JSON.parse(text) as Partial<StoredSecrets>
    const isComplete = /^[0-9a-f]{64}$/.test(encryptionKey ?? '') && (hashPepper ?? '').length >= 32
    return isComplete ? { encryptionKey: encryptionKey!, hashPepper: hashPepper! } : null
  } catch {
    return null
  }
}
