import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HTML_RULES_VERSION, htmlProof } from './check.ts'

test('a proof is valid for one text and one key', () => {
  const proof = htmlProof('<p>Hi</p>', 'key')
  expect(proof).toHaveLength(43)
  expect(htmlProof('<p>Hi</p>', 'key')).toBe(proof)
  expect(htmlProof('<p>Hi </p>', 'key')).not.toBe(proof)
  expect(htmlProof('<p>Hi</p>', 'other key')).not.toBe(proof)
})

/** Of every file that decides whether HTML is accepted. */
function rulesDigest(): string {
  const here = import.meta.dirname
  const files = readdirSync(here).filter(
    name => !['check.ts', 'worker.ts'].includes(name) && !/\.(test|corpus|mails)\./.test(name),
  )
  const digest = createHash('sha256')
  for (const name of files.sort()) digest.update(name).update(readFileSync(join(here, name)))
  return digest.digest('hex').slice(0, 16)
}

test('a change of the rules is noticed, so that their version can be raised', () => {
  expect(
    { version: HTML_RULES_VERSION, digest: rulesDigest() },
    'The HTML rules changed: raise HTML_RULES_VERSION if a result can change, and write the digest here',
  ).toEqual({ version: 4, digest: '9690a00f014033c4' })
})
