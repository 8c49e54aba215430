import { createHmac } from 'node:crypto'

export type SecretSetting = 'HASH_PEPPER' | 'ENCRYPTION_KEY'
export type Fingerprint = { setting: SecretSetting; fingerprint: string }

/** A keyed hash of a fixed text with the secret as the key: shows whether two secrets are the same without revealing them. */
export function fingerprintOf(setting: SecretSetting, secret: string): string {
  const key = setting === 'ENCRYPTION_KEY' ? Buffer.from(secret, 'hex') : secret
  return createHmac('sha256', key).update(`email-gateway fingerprint of ${setting}`).digest('hex')
}

export type SecretsCompared = {
  /** The database was written with another pepper. */
  otherPepper: boolean
  /** Recorded keys that are not configured. This is fine once no stored value uses them. */
  missingKeys: string[]
  /** The key used for encryption is already recorded. */
  activeKeyRecorded: boolean
  /** One of the missing keys became the one used for encryption after it: running processes may encrypt with that. */
  newerKeyMissing: boolean
  /** No key was recorded yet. */
  firstKey: boolean
}

/** `recorded`: the keys in the order in which they became the one used for encryption. */
export function compareSecrets(
  given: { hashPepper: string; encryptionKeys: readonly string[] },
  recorded: readonly Fingerprint[],
): SecretsCompared {
  const of = (setting: SecretSetting) => recorded.filter(one => one.setting === setting).map(one => one.fingerprint)
  const [peppers, keys] = [of('HASH_PEPPER'), of('ENCRYPTION_KEY')]
  const givenKeys = given.encryptionKeys.map(key => fingerprintOf('ENCRYPTION_KEY', key))
  const missingKeys = keys.filter(key => !givenKeys.includes(key))
  const active = keys.indexOf(givenKeys[0]!)
  return {
    otherPepper: peppers.length > 0 && !peppers.includes(fingerprintOf('HASH_PEPPER', given.hashPepper)),
    missingKeys,
    activeKeyRecorded: active >= 0,
    newerKeyMissing: missingKeys.some(key => keys.indexOf(key) > active),
    firstKey: keys.length === 0,
  }
}
