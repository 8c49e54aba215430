import { Command } from 'ioredis'
import { afterAll, expect, test } from 'vitest'
import { CrowdRedis, PlainlyWritten } from './crowd-redis.ts'

const redis = new CrowdRedis('redis://127.0.0.1', { lazyConnect: true })
afterAll(() => redis.disconnect())

const ARGUMENTS: [what: string, args: ConstructorParameters<typeof Command>[1] & object][] = [
  ['nothing', []],
  ['text of one, two, three and four bytes a character', ['plain', 'não', '€', '💌', '']],
  ['numbers, a list and nothing at all', [14, 0, -1, 1.5, ['in', 2, 'list'], null as never, undefined as never]],
  ['bytes, also none', [Buffer.from([0, 255, 13, 10]), Buffer.alloc(0), 'between', Buffer.from('ü')]],
]

test.each(ARGUMENTS)('a command of %s is written byte by byte as ioredis writes it', (_, args) => {
  const theirs = Buffer.from(new Command('evalsha', [...args]).toWritable({}))
  expect(new PlainlyWritten('evalsha', [...args]).toWritable()).toEqual(theirs)
})

test('what commands begin with is remembered, and each is still written as ioredis writes it', () => {
  const commands: ConstructorParameters<typeof Command>[1][] = [
    ['sha', 3, 'wait', 'active', 'job-1', 'é', Buffer.from([1])],
    ['sha', 3, 'wait', 'active', 'job-2', 'é', Buffer.from([2])],
    ['sha', 3, 'wait', 'active', 'job-2', 'é', Buffer.from([2])],
    ['sha', 3, 'wait', 'active', Buffer.from('job-3'), 'é'],
    ['sha', 3, 'wait'],
    ['sha', 3, 'wait', 'active', 'job-4'],
    ['sha', 2, 'elsewhere'],
    ['other', 3, 'wait', 'active'],
    ['other', 3, 'wait', 'active', 'more'],
    [Buffer.from('sha'), 'bytes'],
    [Buffer.from('sha'), 'bytes'],
  ]
  for (const name of ['evalsha', 'eval', 'evalsha'])
    for (const args of [...commands, ...commands.toReversed()]) {
      const theirs = Buffer.from(new Command(name, [...args!]).toWritable({}))
      expect(String(new PlainlyWritten(name, [...args!]).toWritable())).toBe(String(theirs))
    }
})

test('scripts are written so: whole the first time, by their name afterwards', () => {
  redis.defineCommand('told', { lua: 'return ARGV[1]', numberOfKeys: 1 })
  const { told } = redis.scriptsSet as Record<string, { sha: string; Command: typeof Command }>
  const socket = {}
  const write = () => {
    const command = new told!.Command('evalsha', [told!.sha, 1, 'key', Buffer.from('value')])
    expect(command).toBeInstanceOf(PlainlyWritten)
    return String(command.toWritable(socket))
  }
  expect(write()).toContain('eval\r\n$14\r\nreturn ARGV[1]\r\n')
  expect(write()).toContain(`evalsha\r\n$40\r\n${told!.sha}\r\n$1\r\n1\r\n$3\r\nkey\r\n$5\r\nvalue\r\n`)
})
