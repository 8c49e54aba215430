import { type Config, ConfigError } from '../config.ts'
import { keyRing } from '../contracts/encryption.ts'
import { compareSecrets, fingerprintOf, type SecretsCompared } from '../contracts/fingerprints.ts'
import type { Queryable } from '../db/query.ts'
import { needsOtherKeys, readFingerprints, recordFingerprints } from '../db/secret-fingerprints.ts'

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
