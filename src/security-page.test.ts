import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const DOCS = join(import.meta.dirname, '../docs')
const page = readFileSync(join(DOCS, 'security.md'), 'utf8').replaceAll('\n', ' ')

/** `[name](file.test.ts): *a test*, *another*` */
const PROOF = /\]\((\.\.\/[^)]+\.test\.ts)\)((?:(?::|,) \*[^*]+\*)*)/g

test('every test that docs/security.md names exists', () => {
  const missing: string[] = []
  let named = 0
  for (const [, file, names] of page.matchAll(PROOF)) {
    const path = join(DOCS, file!)
    const text = existsSync(path) ? readFileSync(path, 'utf8') : null
    if (text === null) missing.push(file!)
    for (const [, name] of names!.matchAll(/\*([^*]+)\*/g)) {
      named++
      if (!text?.includes(name!)) missing.push(`${file}: ${name}`)
    }
  }
  expect(missing).toEqual([])
  expect(named).toBeGreaterThan(40)
})
