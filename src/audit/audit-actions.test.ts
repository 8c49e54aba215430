import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { audit as en } from '../../admin/src/i18n/en/audit.ts'
import { audit as pt } from '../../admin/src/i18n/pt/audit.ts'
import { AUDIT_ACTIONS, AUDIT_SUBJECTS } from './audit.ts'

const SRC = join(import.meta.dirname, '..')
const STATEMENT = /insert into (?:suppression_)?audit_log[^`]*?(?=`|\), \w+ as \()/g

/** Each statement that writes to an audit log, with the actions and subjects that it names: the type of `writeAudit` checks the rest. */
const STATEMENTS = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .flatMap(file => [...readFileSync(join(SRC, file), 'utf8').matchAll(STATEMENT)].map(([text]) => ({ file, text })))
  .map(({ file, text }) => {
    // A row begins with `select` or `values`: its subject comes first, if it has one, and its action is the first word in capitals.
    const rows = text.split(/\b(?:select|values)\b/).slice(1)
    return {
      file,
      actions: rows.flatMap(row => /'([A-Z][A-Z_]+)'/.exec(row)?.[1] ?? []),
      subjects: rows.flatMap(row => /^\s*\(?'([a-z_]+)'/.exec(row)?.[1] ?? []),
    }
  })

test('every statement names its actions, so that they are seen here, but those whose action has the type', () => {
  const without = STATEMENTS.filter(({ actions }) => actions.length === 0).map(({ file }) => file)
  expect(without).toEqual(['audit/audit.ts', 'jobs/jobs.ts'])
})

test('every action and subject that a statement names is in the list', () => {
  const unknown = (all: readonly string[], names: string[]) => names.filter(name => !all.includes(name))
  expect(STATEMENTS.flatMap(({ actions }) => unknown(AUDIT_ACTIONS, actions))).toEqual([])
  expect(STATEMENTS.flatMap(({ subjects }) => unknown(AUDIT_SUBJECTS, subjects))).toEqual([])
})

describe.each([
  ['English', en],
  ['Portuguese', pt],
])('the admin UI in %s', (_, words) => {
  test('has words for every action, and for nothing else', () => {
    expect(Object.keys(words.actions).toSorted()).toEqual(AUDIT_ACTIONS.toSorted())
  })

  test('has words for every subject, and for nothing else', () => {
    expect(Object.keys(words.subjects).toSorted()).toEqual(AUDIT_SUBJECTS.toSorted())
  })
})
