import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const FOLDER = import.meta.dirname
const RUN = /\b(?:run|sql)(?:<[\s\S]{0,300}?>)?\(\s*[\w.]+,\s*'([^']+)'/g

test('every prepared statement has a name of its own: a connection refuses another text under the same name', () => {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter(file => /(?<!\.test)\.ts$/.test(file))
  const names = files.flatMap(file =>
    [...readFileSync(join(FOLDER, file), 'utf8').matchAll(RUN)].map(found => found[1]!),
  )
  expect(names.length).toBeGreaterThan(100)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})
