import { rmSync } from 'node:fs'
import pg from 'pg'
import { openEmbeddedPostgres } from '../../src/platform/postgres/embedded/index.ts'
import { migrate } from '../../src/platform/postgres/migrate.ts'
import { startStockServer } from '../../test/support/stock-server.ts'
import { temporaryFolder } from './processes.ts'

export type BenchPostgres = { fresh(): Promise<string>; close(): Promise<void> }

/** The product's own embedded server. */
export async function startPostgres(settings: Record<string, string> = {}): Promise<BenchPostgres> {
  const dataDir = temporaryFolder()
  const server = await openEmbeddedPostgres({ dataDir, use: 'command', settings })
  return onServer(server.url, async () => {
    await server.close()
    rmSync(dataDir, { recursive: true, force: true })
  })
}

/** The distribution's Postgres with its default settings, as operators run it. */
export async function startStockPostgres(): Promise<BenchPostgres> {
  const server = await startStockServer(temporaryFolder())
  return onServer(server.url, server.close)
}

/** A migrated database for whoever asks; the one before is dropped. */
function onServer(serverUrl: string, close: () => Promise<void>): BenchPostgres {
  let made = 0
  let last = ''
  return {
    async fresh() {
      const admin = new pg.Client({ connectionString: serverUrl })
      await admin.connect()
      if (last) await admin.query(`drop database if exists ${last} with (force)`)
      last = `bench_${++made}`
      await admin.query(`create database ${last}`)
      await admin.query('checkpoint')
      await admin.end()
      const url = new URL(serverUrl)
      url.pathname = `/${last}`
      await migrate(url.href)
      return url.href
    },
    close,
  }
}
