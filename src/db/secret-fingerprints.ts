import type { Fingerprint } from '../contracts/fingerprints.ts'
import { type Queryable, run } from './query.ts'

/** False before the first migration. */
export async function hasFingerprints(db: Queryable): Promise<boolean> {
  const [row] = await run<{ found: boolean }>(
    db,
    'has-fingerprints',
    `select to_regclass('secret_fingerprints') is not null as found`,
    [],
  )
  return row!.found
}

/** The keys in the order in which they became the one used for encryption. */
export async function readFingerprints(db: Queryable): Promise<Fingerprint[]> {
  return run<Fingerprint>(
    db,
    'read-fingerprints',
    `select setting, fingerprint from secret_fingerprints order by recorded_at`,
    [],
  )
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
  const [row] = await run<{ found: boolean }>(
    db,
    'needs-other-keys',
    `select exists (select from webhook_endpoints where substring(secret_cipher from 1 for 4) <> all($1))
       or exists (select from webhook_endpoints where previous_until > now() and substring(previous_cipher from 1 for 4) <> all($1))
       or exists (select from recipients where substring(cpf_cnpj_cipher from 1 for 4) <> all($1)) as found`,
    [keyIds],
  )
  return row!.found
}
