import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

const SRC = import.meta.dirname

/** The rooms, bottom up: a room may import from those above it in this list, never from those below. */
const ROOMS = [
  'platform',
  'settings',
  'web',
  'console',
  'audit',
  'jobs',
  'companies',
  'admins',
  'suppression',
  'webhooks',
  'templates',
  'providers',
  'domains',
  'outbox',
  'ledger',
  'pipeline',
  'dead-letters',
  'emails',
  'people',
  'figures',
  'inbox',
  'doors',
  'operations',
  'contracts',
  'main',
]

/** Imports that go down the list all the same. This may only shrink: one that is gone fails the test until it is deleted here. */
const EXCEPTIONS = [
  'companies/reputation.ts → webhooks/enqueue.ts',
  'companies/routes.ts → webhooks/overview.ts',
  'companies/turns.ts → outbox/claim.ts',
  'operations/demo/demo.ts → main.ts',
  'providers/providers.ts → outbox/load.ts',
  'providers/providers.ts → pipeline/attempt/attempt.ts',
  'providers/report.ts → outbox/states.ts',
  'settings/processes.ts → providers/providers.ts',
  'templates/routes-test-send.ts → outbox/email-view.ts',
  'templates/routes-test-send.ts → outbox/send-body.ts',
  'templates/routes-test-send.ts → pipeline/accept/accept.ts',
  'templates/routes-test-send.ts → pipeline/accept/audited.ts',
  'templates/routes-test-send.ts → pipeline/accept/caller.ts',
  'templates/routes-test-send.ts → pipeline/accept/routes.ts',
  'web/openapi.ts → webhooks/events.ts',
]

const FILES = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
  file => file.endsWith('.ts') && !file.endsWith('.test.ts'),
)
const roomOf = (file: string) => file.split('/')[0]!.replace(/\.ts$/, '')
const levelOf = (file: string) => ROOMS.indexOf(roomOf(file))

function importsOf(file: string): string[] {
  const text = readFileSync(join(SRC, file), 'utf8')
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(match => match[1]!)
}

const localImports = (file: string) =>
  importsOf(file)
    .filter(path => path.startsWith('.'))
    .map(path => relative(SRC, resolve(SRC, dirname(file), path)))

test('every file is in a room', () => {
  expect(FILES.filter(file => levelOf(file) === -1)).toEqual([])
})

test('imports go up the list of rooms only', () => {
  const wrong = FILES.flatMap(file =>
    localImports(file)
      .filter(to => levelOf(to) > levelOf(file))
      .map(to => `${file} → ${to}`),
  )
  expect([...new Set(wrong)].sort()).toEqual(EXCEPTIONS)
})

test('docs/architecture.md shows the rooms and what each imports', async () => {
  const page = join(SRC, '../docs/architecture.md')
  const drawn = readFileSync(page, 'utf8').replace(
    /(<!-- rooms: drawn by src\/rooms\.test\.ts -->\n)[\s\S]*?(<!-- rooms end -->)/,
    (_, begin, end) => `${begin}${drawRooms()}${end}`,
  )
  await expect(drawn).toMatchFileSnapshot(page)
})

test('docs/architecture.md says of every table which room writes it', () => {
  const schema = readFileSync(join(SRC, '../migrations/schema.sql'), 'utf8')
  const tables = new Set(
    [...schema.matchAll(/^create (?:unlogged )?table (?:public\.)?(\w+)/gim)].map(match => match[1]!),
  )
  const page = readFileSync(join(SRC, '../docs/architecture.md'), 'utf8')
  expect(tables.size).toBeGreaterThan(50)
  expect([...tables].filter(table => !page.includes(`\`${table}\``))).toEqual([])
})

test('comments name files that there are', () => {
  const root = join(SRC, '..')
  const known = ['src', 'admin', 'bench', 'test'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(file => `/${folder}/${file}`),
  )
  const unknown = FILES.flatMap(file =>
    [...readFileSync(join(SRC, file), 'utf8').matchAll(/\/\/.*|\/\*[\s\S]*?\*\//g)]
      .flatMap(([comment]) => [...comment.matchAll(/(?<![\w./-])(?:[\w-]+\/)*[\w.-]+\.ts\b/g)].map(([name]) => name))
      .filter(name => !known.some(path => path.endsWith(`/${name}`)))
      .map(name => `${file}: ${name}`),
  )
  expect(unknown).toEqual([])
})

/** An arrow for each room that a room imports, without those that another arrow leads to anyway. */
function drawRooms(): string {
  const uses = new Map(ROOMS.map(room => [room, new Set<string>()]))
  for (const file of FILES)
    for (const to of localImports(file)) if (levelOf(to) < levelOf(file)) uses.get(roomOf(file))!.add(roomOf(to))
  const reaches = (from: string, to: string): boolean =>
    [...uses.get(from)!].some(next => next === to || reaches(next, to))
  const arrows = ROOMS.toReversed().flatMap(room => {
    const direct = [...uses.get(room)!]
    return direct
      .filter(to => !direct.some(other => other !== to && reaches(other, to)))
      .sort((a, b) => ROOMS.indexOf(b) - ROOMS.indexOf(a))
      .map(to => `    ${room} --> ${to}`)
  })
  return `\`\`\`mermaid\nflowchart TD\n${arrows.join('\n')}\n\`\`\`\n`
}

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

test('what is published as email-gateway/contracts is pure: no I/O, no environment', () => {
  const reached = new Set<string>()
  const visit = (file: string) => {
    if (reached.has(file)) return
    reached.add(file)
    localImports(file).forEach(visit)
  }
  visit('contracts.ts')
  const packages = [...reached].flatMap(file => importsOf(file).filter(path => !path.startsWith('.')))
  expect([...new Set(packages)].sort()).toEqual(['node:crypto', 'node:url', 'zod'])
})

test('settings/config.ts alone reads the environment', () => {
  const readers = FILES.filter(file => /process\.env\b/.test(readFileSync(join(SRC, file), 'utf8')))
  expect(readers).toEqual(['settings/config.ts'])
})
