import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

const KEY_ID_BYTES = 4
const IV_BYTES = 12
const TAG_BYTES = 16

/** AES-256-GCM keys by their id. The first encrypts; the others still decrypt what was written before a rotation. */
export type KeyRing = { active: EncryptionKey; all: ReadonlyMap<string, EncryptionKey> }
type EncryptionKey = { id: Buffer; key: Buffer }

export function keyRing(hexKeys: readonly string[]): KeyRing {
  const keys = hexKeys.map(hex => {
    const key = Buffer.from(hex, 'hex')
    return { key, id: createHash('sha256').update(key).digest().subarray(0, KEY_ID_BYTES) }
  })
  return { active: keys[0]!, all: new Map(keys.map(key => [key.id.toString('hex'), key])) }
}

/** Where a value belongs. It is part of the seal: copied to another company or column, a value can no longer be read. */
export type CipherPlace = { companyId: string; column: 'recipients.cpf_cnpj' | 'webhook_endpoints.secret' }

const sealOf = ({ companyId, column }: CipherPlace) => Buffer.from(`${column} ${companyId.toLowerCase()}`)
/** Values written before there was one. */
const NO_SEAL = null

/** key id | iv | tag | ciphertext */
export function encrypt(
  plain: string,
  ring: KeyRing,
  place: CipherPlace,
  random: (size: number) => Buffer = randomBytes,
): Buffer {
  const iv = random(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', ring.active.key, iv).setAAD(sealOf(place))
  const ciphertext = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return Buffer.concat([ring.active.id, iv, cipher.getAuthTag(), ciphertext])
}

/** With its seal, or as it was written before. The tag tells which: a sealed value never opens without its seal. */
export function decrypt(box: Buffer, ring: KeyRing, place: CipherPlace): string {
  const id = box.subarray(0, KEY_ID_BYTES).toString('hex')
  const key = ring.all.get(id)
  if (!key) throw new Error(`ENCRYPTION_KEY: no key with id ${id}; add the old key to the list`)
  try {
    return open(box, key, sealOf(place))
  } catch {
    return open(box, key, NO_SEAL)
  }
}

function open(box: Buffer, { key }: EncryptionKey, seal: Buffer | null): string {
  const iv = box.subarray(KEY_ID_BYTES, KEY_ID_BYTES + IV_BYTES)
  const tag = box.subarray(KEY_ID_BYTES + IV_BYTES, KEY_ID_BYTES + IV_BYTES + TAG_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES })
  if (seal) decipher.setAAD(seal)
  decipher.setAuthTag(tag)
  return decipher.update(box.subarray(KEY_ID_BYTES + IV_BYTES + TAG_BYTES)).toString('utf8') + decipher.final('utf8')
}
