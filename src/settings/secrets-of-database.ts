import { createHmac } from 'node:crypto'
import { keyRing } from '../platform/encryption.ts'
import { type Queryable, run, sql } from '../platform/postgres/query.ts'
import { type Config, ConfigError } from './config.ts'

type Given = Pick<Config, 'hashPepper' | 'encryptionKeys' | 'DATABASE_URL' | 'dataDir'>

/** A sentence for the operator if the secrets are not the ones of this database, otherwise null. */
export async function findSecretsProblem(db: Queryable, config: Given): Promise<string | null> {
  const problem = await findProblem(db, config)
  if (problem === 'pepper') return otherPepperSentence(config)
  return problem === 'key' ? missingKeySentence(config) : null
}

export async function requireSameSecrets(db: Queryable, config: Given): Promise<void> {
  const problem = await findSecretsProblem(db, config)
  if (problem) throw new ConfigError(problem)
}

/** Of what a restore has just written: the database itself had no secrets before. */
export async function requireSecretsOfBackup(db: Queryable, config: Given): Promise<void> {
  const problem = await findProblem(db, config)
  if (!problem) return
  const what = problem === 'pepper' ? 'HASH_PEPPER is not the one' : 'ENCRYPTION_KEY lacks the one'
  throw new ConfigError(
    `${what} that the backup was written with${secretsFileHint(config)}. Set that of the gateway that was backed up; nothing was restored.`,
  )
}

async function findProblem(db: Queryable, config: Given): Promise<'pepper' | 'key' | null> {
  const compared = compareSecrets(config, await readFingerprints(db))
  if (compared.otherPepper) return 'pepper'
  return (await isMissingKey(db, config, compared)) ? 'key' : null
}

/** Called before the first write. Keys that were removed from the list, and that no data needs, are deleted from the record. */
export async function recordSecrets(db: Queryable, config: Given): Promise<void> {
  const compared = compareSecrets(config, await readFingerprints(db))
  if (compared.otherPepper) throw new ConfigError(otherPepperSentence(config))
  if (await (compared.firstKey ? needsOtherKeys(db, keyIds(config)) : isMissingKey(db, config, compared)))
    throw new ConfigError(missingKeySentence(config))
  const pepper = fingerprintOf('HASH_PEPPER', config.hashPepper)
  const key = fingerprintOf('ENCRYPTION_KEY', config.encryptionKeys[0]!)
  await recordFingerprints(
    db,
    [
      { setting: 'HASH_PEPPER', fingerprint: pepper },
      { setting: 'ENCRYPTION_KEY', fingerprint: key },
    ],
    compared.missingKeys,
  )
  // A simultaneous first start may have recorded another pepper first.
  await requireSameSecrets(db, config)
}

/**
 * A recorded key may be removed from the list if no data needs it and the key that encrypts was recorded after it: other running
 * processes encrypt with a recorded key, and this process must be able to read what they write.
 */
async function isMissingKey(db: Queryable, config: Given, compared: SecretsCompared) {
  const { missingKeys, activeKeyRecorded, newerKeyMissing } = compared
  if (missingKeys.length === 0) return false
  return !activeKeyRecorded || newerKeyMissing || (await needsOtherKeys(db, keyIds(config)))
}

const keyIds = ({ encryptionKeys }: Given) => [...keyRing(encryptionKeys).all.values()].map(key => key.id)

const secretsFileHint = ({ DATABASE_URL, dataDir }: Given) =>
  DATABASE_URL ? '' : ` (without the setting it is read from ${dataDir}/secrets.json)`

const otherPepperSentence = (config: Given) =>
  `HASH_PEPPER is not the one that this database was written with${secretsFileHint(config)}: API keys and hashes of documents would not be recognised. Set the one that was there before.`

const missingKeySentence = (config: Given) =>
  `ENCRYPTION_KEY lacks the key of this database${secretsFileHint(config)}: set what the running processes have. To change the key, give every process old,new first, and new,old only then.`

/** False before the first migration. */
export async function hasFingerprints(db: Queryable): Promise<boolean> {
  const [row] = await sql<{ found: boolean }>(db, 'has-fingerprints')`
    select to_regclass('secret_fingerprints') is not null as found`
  return row!.found
}

/** The keys in the order in which they became the one used for encryption. */
export async function readFingerprints(db: Queryable): Promise<Fingerprint[]> {
  return sql<Fingerprint>(db, 'read-fingerprints')`
    select setting, fingerprint from secret_fingerprints order by recorded_at`
}

/** Of two simultaneous first starts the first pepper is kept. The key is the newest from now on, also one that was there before. */
export async function recordFingerprints(
  db: Queryable,
  fingerprints: Fingerprint[],
  outdated: string[],
): Promise<void> {
  await run(
    db,
    'record-fingerprints',
    `with deleted as (
       delete from secret_fingerprints where setting = 'ENCRYPTION_KEY' and fingerprint = any($2)
     ), pepper as (
       insert into secret_fingerprints (setting, fingerprint)
       select setting, fingerprint from json_to_recordset($1::json) as x(setting text, fingerprint text) where setting = 'HASH_PEPPER'
       on conflict do nothing
     )
     insert into secret_fingerprints (setting, fingerprint)
     select setting, fingerprint from json_to_recordset($1::json) as x(setting text, fingerprint text) where setting = 'ENCRYPTION_KEY'
     on conflict (setting, fingerprint) do update set recorded_at = now()`,
    [JSON.stringify(fingerprints), outdated],
  )
}

/** Whether anything is encrypted with a key that is not in `keyIds`. Reads every cipher if not. */
export async function needsOtherKeys(db: Queryable, keyIds: Buffer[]): Promise<boolean> {
  const [row] = await sql<{ found: boolean }>(db, 'needs-other-keys')`
    select exists (select from webhook_endpoints where substring(secret_cipher from 1 for 4) <> all(${keyIds}))
       or exists (select from webhook_endpoints where previous_until > now() and substring(previous_cipher from 1 for 4) <> all(${keyIds}))
       or exists (select from recipients where substring(cpf_cnpj_cipher from 1 for 4) <> all(${keyIds})) as found`
  return row!.found
}

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
