import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

const SRC = import.meta.dirname

/** Imports go one way. A folder may import from itself and from the folders listed. */
const BASE = ['contracts', 'runtime', 'telemetry', 'db', 'providers']
const STEPS = [...BASE, 'accepting', 'sending', 'feedback', 'webhooks', 'people', 'bulk', 'domains', 'pipeline']
const CONFIG = ['config.ts', 'settings.ts', 'recorded-settings.ts']
const MAY_IMPORT: Record<string, string[]> = {
  contracts: [],
  runtime: [],
  telemetry: ['contracts', 'runtime'],
  db: ['contracts', 'runtime', 'telemetry'],
  providers: ['contracts', 'runtime', 'telemetry', 'db', 'version.ts'],
  accepting: BASE,
  sending: BASE,
  feedback: BASE,
  webhooks: BASE,
  people: BASE,
  bulk: BASE,
  domains: BASE,
  pipeline: [...BASE, 'accepting', 'sending', 'feedback', 'webhooks', 'people', 'bulk', 'domains'],
  http: STEPS,
  smtp: STEPS,
  'secrets.ts': [],
  'version.ts': [],
  'settings.ts': ['contracts'],
  'recorded-settings.ts': ['settings.ts'],
  'config.ts': ['secrets.ts', 'settings.ts', 'contracts'],
  compose: [...CONFIG, 'version.ts', 'http', 'smtp', ...STEPS],
  'main.ts': [...CONFIG, 'version.ts', 'compose', 'http', ...STEPS],
  demo: [...CONFIG, 'main.ts', 'compose', ...STEPS],
  // The command line is the entry point: `start` calls main.ts.
  cli: [...CONFIG, 'version.ts', 'main.ts', 'demo', 'compose', 'http', ...STEPS],
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

const folder = (file: string) => file.split('/')[0]!

test('imports go one way only', () => {
  const wrong: string[] = []
  for (const file of sourceFiles()) {
    for (const target of importsOf(file).filter(path => path.startsWith('.'))) {
      const to = folder(relative(SRC, resolve(SRC, dirname(file), target)))
      const from = folder(file)
      if (to !== from && !MAY_IMPORT[from]?.includes(to)) wrong.push(`${file} → ${target}`)
    }
  }
  expect(wrong).toEqual([])
})

test('the admin UI and the gateway share nothing but the API', () => {
  const admin = join(SRC, '../admin')
  const files = readdirSync(join(admin, 'src'), { recursive: true, encoding: 'utf8' })
  const wrong = files
    .filter(file => /\.tsx?$/.test(file))
    .flatMap(file =>
      importsOf(join('../admin/src', file))
        .filter(path => path.startsWith('.') && !resolve(admin, 'src', dirname(file), path).startsWith(`${admin}/`))
        .map(path => `${file} → ${path}`),
    )
  expect(wrong).toEqual([])
})

test('src/pipeline holds the steps and nothing else, each short enough to read in one sitting', () => {
  const steps = ['accept', 'attempt', 'claim', 'feedback', 'housekeeping', 'notify', 'settle']
  const files = sourceFiles().filter(file => folder(file) === 'pipeline')
  expect(files.sort()).toEqual(steps.map(step => `pipeline/${step}.ts`))
  for (const file of files) expect(readFileSync(join(SRC, file), 'utf8').split('\n').length, file).toBeLessThan(200)
})

test('no step takes more than eight dependencies', () => {
  for (const file of sourceFiles().filter(file => folder(file) === 'pipeline'))
    for (const [, name, members] of readFileSync(join(SRC, file), 'utf8').matchAll(
      /^export type (\w+(?:Deps|Options)) = \{\n([\s\S]*?)^\}/gm,
    )) {
      const dependencies = members!.match(/^ {2}\w+\??[:(]/gm)
      expect(dependencies!.length, `${file}: ${name}`).toBeLessThanOrEqual(8)
    }
})

test('no SQL function is longer than 90 lines', () => {
  const functions = join(SRC, '../migrations/functions')
  for (const file of readdirSync(functions))
    for (const [text, name] of readFileSync(join(functions, file), 'utf8').matchAll(
      /^create or replace function (\w+)[\s\S]*?^(?:end )?\$\$;/gm,
    ))
      expect(text.split('\n').length, `${file}: ${name}`).toBeLessThanOrEqual(90)
})

test('contracts are pure: no node I/O modules, no environment', () => {
  const allowed = ['zod', 'parse5', 'liquidjs', 'node:crypto', 'node:url']
  const wrong = sourceFiles()
    .filter(file => folder(file) === 'contracts')
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
