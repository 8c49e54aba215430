import { expect, test } from 'vitest'
import { compareSecrets, type Fingerprint, fingerprintOf } from './secrets-of-database.ts'

const [OLD, NEW] = ['0a'.repeat(32), '0b'.repeat(32)]
const PEPPER = 'pepper '.repeat(6)
const RECORDED: Fingerprint[] = [
  { setting: 'HASH_PEPPER', fingerprint: fingerprintOf('HASH_PEPPER', PEPPER) },
  { setting: 'ENCRYPTION_KEY', fingerprint: fingerprintOf('ENCRYPTION_KEY', OLD) },
]
const GOOD = { otherPepper: false, missingKeys: [], activeKeyRecorded: true, newerKeyMissing: false, firstKey: false }

test('a fingerprint is the same each time, differs by secret and by setting, and does not hold the secret', () => {
  const made = fingerprintOf('ENCRYPTION_KEY', OLD)
  expect(made).toBe(fingerprintOf('ENCRYPTION_KEY', OLD.toUpperCase()))
  expect(new Set([made, fingerprintOf('ENCRYPTION_KEY', NEW), fingerprintOf('HASH_PEPPER', OLD)]).size).toBe(3)
  expect(made).toMatch(/^[0-9a-f]{64}$/)
})

test('without recorded fingerprints nothing is wrong', () => {
  const given = { hashPepper: PEPPER, encryptionKeys: [OLD] }
  expect(compareSecrets(given, [])).toEqual({ ...GOOD, activeKeyRecorded: false, firstKey: true })
})

test('a rotation puts the new key first and keeps the old one', () => {
  expect(compareSecrets({ hashPepper: PEPPER, encryptionKeys: [OLD] }, RECORDED)).toEqual(GOOD)
  expect(compareSecrets({ hashPepper: PEPPER, encryptionKeys: [NEW, OLD] }, RECORDED)).toEqual({
    ...GOOD,
    activeKeyRecorded: false,
  })
})

test('another pepper and a missing key are reported', () => {
  expect(compareSecrets({ hashPepper: `${PEPPER}x`, encryptionKeys: [NEW] }, RECORDED)).toEqual({
    otherPepper: true,
    missingKeys: [RECORDED[1]!.fingerprint],
    activeKeyRecorded: false,
    newerKeyMissing: true,
    firstKey: false,
  })
})

test('of two recorded keys the newer one may not be missing, the older one may', () => {
  const rotated: Fingerprint[] = [
    ...RECORDED,
    { setting: 'ENCRYPTION_KEY', fingerprint: fingerprintOf('ENCRYPTION_KEY', NEW) },
  ]
  const given = (key: string) => compareSecrets({ hashPepper: PEPPER, encryptionKeys: [key] }, rotated)
  expect(given(OLD)).toMatchObject({ activeKeyRecorded: true, newerKeyMissing: true })
  expect(given(NEW)).toMatchObject({ activeKeyRecorded: true, newerKeyMissing: false })
})
