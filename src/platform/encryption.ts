import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

const KEY_ID_BYTES = 4
const IV_BYTES = 12
const TAG_BYTES = 16

/** AES-256-GCM keys by id. The first one encrypts; the others decrypt values written before a key rotation. */
export type KeyRing = { active: EncryptionKey; all: ReadonlyMap<string, EncryptionKey> }
type EncryptionKey = { id: Buffer; key: Buffer }

export function keyRing(hexKeys: readonly string[]): KeyRing {
  const keys = hexKeys.map(hex => {
    const key = Buffer.from(hex, 'hex')
    return { key, id: createHash('sha256').update(key).digest().subarray(0, KEY_ID_BYTES) }
  })
  return { active: keys[0]!, all: new Map(keys.map(key => [key.id.toString('hex'), key])) }
}

/** Authenticated together with the value (AAD), so a value that is copied to another company or column cannot be decrypted. */
export type CipherContext = { companyId: string; column: 'recipients.cpf_cnpj' | 'webhook_endpoints.secret' }

const associatedDataOf = ({ companyId, column }: CipherContext) => Buffer.from(`${column} ${companyId.toLowerCase()}`)

/** Layout of the result: key id | iv | tag | ciphertext. */
export function encrypt(
  plain: string,
  ring: KeyRing,
  context: CipherContext,
  random: (size: number) => Buffer = randomBytes,
): Buffer {
  const iv = random(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', ring.active.key, iv).setAAD(associatedDataOf(context))
  const ciphertext = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return Buffer.concat([ring.active.id, iv, cipher.getAuthTag(), ciphertext])
}

export function decrypt(box: Buffer, ring: KeyRing, context: CipherContext): string {
  const id = box.subarray(0, KEY_ID_BYTES).toString('hex')
  const found = ring.all.get(id)
  if (!found) throw new Error(`ENCRYPTION_KEY: no key with id ${id}; add the old key to the list`)
  const iv = box.subarray(KEY_ID_BYTES, KEY_ID_BYTES + IV_BYTES)
  const tag = box.subarray(KEY_ID_BYTES + IV_BYTES, KEY_ID_BYTES + IV_BYTES + TAG_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', found.key, iv, { authTagLength: TAG_BYTES })
    .setAAD(associatedDataOf(context))
    .setAuthTag(tag)
  return decipher.update(box.subarray(KEY_ID_BYTES + IV_BYTES + TAG_BYTES)).toString('utf8') + decipher.final('utf8')
}
