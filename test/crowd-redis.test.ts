import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { CrowdRedis, PlainlyWritten } from '../src/sending/crowd-redis.ts'
import { type RedisServer, startRedis } from './support/redis-server.ts'

type Scripted = {
  told(...args: string[]): Promise<unknown>
  toldBuffer(...args: string[]): Promise<unknown>
  failing(): Promise<unknown>
}

let server: RedisServer
let ours: CrowdRedis & Scripted
let theirs: Redis & Scripted
const answered = vi.spyOn(PlainlyWritten.prototype, 'answer')

beforeAll(async () => {
  server = await startRedis()
  ours = new CrowdRedis(server.url, { maxRetriesPerRequest: null, retryStrategy: () => 20 }) as typeof ours
  theirs = new Redis(server.url) as typeof theirs
  for (const one of [ours, theirs]) {
    one.defineCommand('told', { lua: `return cjson.decode(ARGV[1])`, numberOfKeys: 0 })
    one.defineCommand('failing', { lua: `return redis.error_reply('MINE no')`, numberOfKeys: 0 })
  }
})
afterAll(async () => {
  ours?.disconnect()
  theirs?.disconnect()
  await server?.close()
})
beforeEach(() => void answered.mockClear())

const both = <T>(act: (redis: typeof ours) => Promise<T>) => Promise.all([ours, theirs as typeof ours].map(act))

test.each([
  ['a text', '"não 💌"'],
  ['nothing', '""'],
  ['a number', '-42'],
  ['lists in lists, and a null that ends one', '[["a", "1", ["b"]], 7, ["", false, 3], []]'],
  ['a large list', JSON.stringify(Array.from({ length: 5_000 }, (_, place) => `${place} é`))],
])('%s that a script answers is what ioredis reads, without its help', async (_, json) => {
  const [mine, expected] = await both(redis => redis.told(json))
  expect(mine).toEqual(expected)
  expect(answered).toHaveBeenCalledTimes(1)
})

test('errors, bytes, other commands and transactions are left to ioredis, each answer to its question', async () => {
  const [mine, expected] = await both(redis =>
    Promise.all([
      redis.told('["first"]'),
      redis.failing().catch((error: Error) => error.message),
      redis.set('key', 'ü'),
      redis.toldBuffer('["bytes"]'),
      redis.getBuffer('key'),
      redis.multi().incr('count').evalsha('0'.repeat(40), 0).exec(),
      redis.del('count'),
      redis.pipeline([['get', 'key'], ['told', '"in line"'], ['failing']] as never).exec(),
      redis.told('["last"]'),
    ]),
  )
  expect(mine).toEqual(expected)
  expect(mine![0]).toEqual(['first'])
  expect(mine![8]).toEqual(['last'])
})

test('an answer too large to be kept is read all the same, and so is what follows', async () => {
  const large = JSON.stringify(['x'.repeat(3_000_000), 'end'])
  expect(await ours.told(large)).toEqual(JSON.parse(large))
  expect(await ours.told('"after"')).toBe('after')
  expect(await ours.get('key')).toBe('ü')
})

test('a new connection is read so, too', async () => {
  ours.stream.destroy()
  expect(await ours.told('["again"]')).toEqual(['again'])
  expect(answered).toHaveBeenCalledTimes(1)
})
