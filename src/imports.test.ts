import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

const SRC = import.meta.dirname

/** Imports go one way. A room may import from itself and from the rooms listed. */
const MAY_IMPORT: Record<string, string[]> = {
  contracts: [],
  telemetry: ['contracts'],
  db: ['contracts', 'telemetry'],
  providers: ['contracts', 'telemetry', 'db'],
  lanes: ['contracts', 'telemetry', 'db'],
  pipeline: ['contracts', 'telemetry', 'db', 'lanes', 'providers'],
  http: ['contracts', 'telemetry', 'db', 'pipeline'],
  'secrets.ts': [],
  'config.ts': ['secrets.ts', 'contracts'],
  'main-secrets.ts': ['config.ts', 'contracts', 'db'],
  'main-storage.ts': ['config.ts', 'main-secrets.ts', 'db'],
  'main-accept.ts': ['config.ts', 'contracts', 'db', 'pipeline'],
  'main-providers.ts': ['config.ts', 'contracts', 'telemetry', 'db', 'providers', 'pipeline'],
  'main-process.ts': ['config.ts', 'main-providers.ts', 'contracts', 'db', 'pipeline'],
  'main-bullmq.ts': ['main-line.ts', 'contracts', 'db', 'lanes', 'pipeline'],
  'main-line.ts': [
    'config.ts',
    'main-providers.ts',
    'main-bullmq.ts',
    'contracts',
    'telemetry',
    'db',
    'lanes',
    'pipeline',
  ],
  'main-admin.ts': ['db', 'pipeline'],
  'main-webhooks.ts': ['config.ts', 'contracts', 'db', 'pipeline'],
  'main-events.ts': ['config.ts', 'db', 'providers', 'pipeline', 'http'],
  'main-feedback.ts': ['config.ts', 'db', 'pipeline'],
  'main.ts': [
    'config.ts',
    'main-admin.ts',
    'main-accept.ts',
    'main-events.ts',
    'main-feedback.ts',
    'main-line.ts',
    'main-providers.ts',
    'main-storage.ts',
    'main-webhooks.ts',
    'contracts',
    'telemetry',
    'db',
    'pipeline',
    'http',
  ],
  cli: [
    'config.ts',
    'main.ts',
    'main-accept.ts',
    'main-process.ts',
    'main-providers.ts',
    'main-secrets.ts',
    'main-storage.ts',
    'contracts',
    'telemetry',
    'db',
    'lanes',
    'pipeline',
    'http',
  ],
}

function sourceFiles(): string[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
    file => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  )
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(SRC, file), 'utf8')
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(match => match[1]!)
}

const room = (file: string) => file.split('/')[0]!

test('imports go one way only', () => {
  const wrong: string[] = []
  for (const file of sourceFiles()) {
    for (const target of importsOf(file).filter(path => path.startsWith('.'))) {
      const to = room(relative(SRC, resolve(SRC, dirname(file), target)))
      const from = room(file)
      if (to !== from && !MAY_IMPORT[from]?.includes(to)) wrong.push(`${file} → ${target}`)
    }
  }
  expect(wrong).toEqual([])
})

test('contracts are pure: no node I/O modules, no environment', () => {
  const allowed = ['zod', 'parse5', 'node:crypto', 'node:url']
  const wrong = sourceFiles()
    .filter(file => room(file) === 'contracts')
    .flatMap(file =>
      importsOf(file)
        .filter(path => !path.startsWith('.') && !allowed.includes(path))
        .map(path => `${file} → ${path}`),
    )
  expect(wrong).toEqual([])
})

test('config.ts alone reads the environment', () => {
  const readers = sourceFiles().filter(file => /process\.env\b/.test(readFileSync(join(SRC, file), 'utf8')))
  expect(readers).toEqual(['config.ts'])
})
