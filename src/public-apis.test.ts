import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/** What would let a minor upgrade of a dependency break us. Each rule comes with a line that it must find. */
const RULES: { rule: string; pattern: RegExp; example: string }[] = [
  { rule: 'a changed prototype', pattern: /setPrototypeOf/, example: 'Object.setPrototypeOf(command, Ours)' },
  {
    rule: 'a member added to a prototype',
    pattern: /\.prototype(\.\w+|\[[^\]]+\])\s*=(?!=)/,
    example: 'Redis.prototype.sendCommand = ours',
  },
  {
    rule: 'a private member of BullMQ',
    pattern:
      /[.'](lockManager|callProcessJob|createJob|processJob|moveToActive|nextJobFromJobData|getBackend|backend|scripts)\b/,
    example: 'await worker.moveToActive(token)',
  },
  {
    rule: 'a private member of ioredis',
    pattern: /[.'](commandQueue|offlineQueue|scriptsSet|toWritable|replyEncoding|connectionEpoch)\b/,
    example: 'redis.commandQueue.shift()',
  },
  { rule: 'a member named as private', pattern: /(?<!this)(\.|\[')_[a-zA-Z]/, example: 'client._queryQueue.length' },
  {
    rule: 'a symbol of Fastify',
    pattern: /getOwnPropertySymbols|Symbol\.for\('fastify/,
    example: "reply[Symbol.for('fastify.x')]",
  },
  {
    rule: 'a cast to reach a hidden member',
    pattern: /\bas unknown as \{|\bas any\b/,
    example: '(redis as unknown as { x: 1 }).x',
  },
  { rule: "another library's listeners", pattern: /\.(raw)?listeners\('/i, example: "stream.listeners('data')" },
]

/** Classes of these packages are used as they are; a subclass depends on what calls what inside. */
const NOT_EXTENDED = ['bullmq', 'ioredis', 'pg', 'fastify', 'parse5']

/** Known, and to be removed; the test fails when one of them is gone, so that this list does not outlive its reason. */
const EXCEPTIONS = new Map([
  ['providers/smtp/session.ts', 'nodemailer has no public way to destroy the socket of a connection that hangs'],
  ['platform/html/rules.ts', 'parse5 documents no way to see the start tags that create no element'],
])

const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map(file => ({ file, text: readFileSync(join(import.meta.dirname, file), 'utf8') }))

function offencesIn(text: string): string[] {
  const broken = text
    .split('\n')
    .flatMap(line => RULES.filter(({ pattern }) => pattern.test(line)).map(({ rule }) => `${rule}: ${line.trim()}`))
  const subclasses = importedFrom(NOT_EXTENDED, text).filter(name =>
    new RegExp(`class [^{]*extends ${name}\\b`).test(text),
  )
  return [...broken, ...subclasses.map(name => `a subclass of ${name}`)]
}

function importedFrom(packages: string[], text: string): string[] {
  const imports = [...text.matchAll(/import (?:type )?(\w+)?(?:, )?(?:\{([^}]*)\})? from '([^']+)'/g)]
  return imports
    .filter(([, , , from]) => packages.includes(from!))
    .flatMap(([, byDefault = '', named = '']) => [byDefault, ...named.split(',')])
    .map(name =>
      name
        .replace(/^\s*type /, '')
        .replace(/^.* as /, '')
        .trim(),
    )
    .filter(name => name !== '')
}

test('only documented APIs of dependencies are used: no private members, no changed prototypes, no subclasses', () => {
  const offences = files
    .filter(({ file }) => !EXCEPTIONS.has(file))
    .flatMap(({ file, text }) => offencesIn(text).map(offence => `${file}: ${offence}`))
  expect(offences).toEqual([])
})

test('every exception is still needed', () => {
  const needed = files.filter(({ file, text }) => EXCEPTIONS.has(file) && offencesIn(text).length > 0)
  expect(needed.map(({ file }) => file).toSorted()).toEqual([...EXCEPTIONS.keys()].toSorted())
})

test.each(RULES)('$rule is found', ({ rule, example }) => {
  expect(offencesIn(example)).toEqual([expect.stringContaining(rule)])
})

test.each([
  ["import { type Job, Worker } from 'bullmq'\nexport class Ours extends Worker {}", 'Worker'],
  ["import Redis from 'ioredis'\nclass Ours extends Redis {}", 'Redis'],
  ["import { Redis as Client } from 'ioredis'\nclass Ours extends Client {}", 'Client'],
])('a subclass of a dependency is found: %s', (text, name) => {
  expect(offencesIn(text)).toEqual([`a subclass of ${name}`])
})
