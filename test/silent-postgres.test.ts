import { connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DatabaseUnavailable, openDatabase, run } from '../src/db/pool.ts'
import { createTestDatabase } from './support/postgres.ts'

type Database = Awaited<ReturnType<typeof createTestDatabase>>
let database: Database
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database?.drop())

/** A network that can swallow everything without closing anything, as when the other machine loses its power. */
async function network(target: URL) {
  const sockets = new Set<Socket>()
  const swallowing = { on: false }
  const server = createServer(client => {
    const postgres = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [client, postgres],
      [postgres, client],
    ] as const) {
      sockets.add(from)
      from.on('data', data => void (swallowing.on || to.write(data)))
      from.on('error', () => {})
      from.on('close', () => to.destroy())
    }
  })
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.port = String((server.address() as { port: number }).port)
  url.hostname = '127.0.0.1'
  return {
    url: url.href,
    swallowing,
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

test('a Postgres that vanishes without closing its connections is out of reach, not waited for for ever', async () => {
  const between = await network(new URL(database.url))
  const db = openDatabase(between.url, () => {}, { hot: 500, pool: 500 })
  const ask = (from: 'hot' | 'pool') => run<{ one: number }>(db[from], 'one', 'select 1 as one', [])
  try {
    expect([await ask('hot'), await ask('pool')]).toEqual([[{ one: 1 }], [{ one: 1 }]])
    between.swallowing.on = true
    const answers = await Promise.all([ask('hot'), ask('pool')].map(asked => asked.catch((error: Error) => error)))
    for (const answer of answers) expect(answer).toBeInstanceOf(DatabaseUnavailable)
    between.swallowing.on = false
    expect([await ask('hot'), await ask('pool')]).toEqual([[{ one: 1 }], [{ one: 1 }]])
  } finally {
    await db.close()
    between.close()
  }
}, 15_000)
