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

const TAG = /\bsql(?:<[^`]*?>)?\((?:[^`]|`[^`]*`)*?\)`((?:[^`\\]|\\.|\$\{[^}]*\})*)`/g

/** The values of one tagged statement that stand inside of a text of SQL, where a parameter is the letters `$1`. */
function quotedValues(statement: string): string[] {
  const withoutComments = statement.replace(/--[^\n]*/g, '')
  let begin = ''
  return withoutComments.split(/(\$\{[^}]*\})/).filter((part, index) => {
    if (index % 2 === 0) begin += part
    return index % 2 === 1 && !/^\$\{(?:fragment|literal)\b/.test(part) && begin.split("'").length % 2 === 0
  })
}

test("no value stands inside of quotes: it would not be a parameter, but the text '$1'", () => {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter(file => /(?<!\.test)\.ts$/.test(file))
  const statements = files.flatMap(file =>
    [...readFileSync(join(FOLDER, file), 'utf8').matchAll(TAG)].map(found => ({ file, statement: found[1]! })),
  )
  expect(statements.length).toBeGreaterThan(250)
  expect(
    statements.flatMap(({ file, statement }) => quotedValues(statement).map(value => `${file}: ${value}`)),
  ).toEqual([])
})

test('a quoted value is found', () => {
  expect(quotedValues(`select 1 where action = '\${ending}' and id < \${before}`)).toEqual([`\${ending}`])
  expect(quotedValues(`select now() - interval '1 \${fragment\`\${step}\`}', \${id} -- it's fine`)).toEqual([])
})
