import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HTML_RULES_VERSION, htmlProof } from './html-proof.ts'

test('a proof is good for one text under one key', () => {
  const proof = htmlProof('<p>Hi</p>', 'key')
  expect(proof).toHaveLength(43)
  expect(htmlProof('<p>Hi</p>', 'key')).toBe(proof)
  expect(htmlProof('<p>Hi </p>', 'key')).not.toBe(proof)
  expect(htmlProof('<p>Hi</p>', 'other key')).not.toBe(proof)
})

/** Everything that decides whether HTML may leave. */
function rulesDigest(): string {
  const here = import.meta.dirname
  const files = readdirSync(here).filter(
    name => /^(html-(?!proof)|css-rules)/.test(name) && !/\.(test|corpus|mails)\./.test(name),
  )
  const digest = createHash('sha256')
  for (const name of files.sort()) digest.update(name).update(readFileSync(join(here, name)))
  return digest.digest('hex').slice(0, 16)
}

test('the version of the rules was raised with their last change', () => {
  expect(
    { version: HTML_RULES_VERSION, digest: rulesDigest() },
    'The HTML rules changed: raise HTML_RULES_VERSION if another verdict is possible, and write the digest here',
  ).toEqual({ version: 3, digest: '8eb7e0fd587d3e88' })
})
