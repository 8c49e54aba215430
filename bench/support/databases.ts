import { rmSync } from 'node:fs'
import pg from 'pg'
import { openEmbeddedPostgres } from '../../src/db/embedded/index.ts'
import { migrate } from '../../src/db/migrate.ts'
import { temporaryFolder } from './processes.ts'

export type BenchPostgres = { fresh(): Promise<string>; close(): Promise<void> }

/** The product's own embedded server, with a migrated database for whoever asks; the one before is dropped. */
export async function startPostgres(settings: Record<string, string> = {}): Promise<BenchPostgres> {
  const dataDir = temporaryFolder()
  const server = await openEmbeddedPostgres({ dataDir, use: 'command', settings })
  let made = 0
  let last = ''
  return {
    async fresh() {
      const admin = new pg.Client({ connectionString: server.url })
      await admin.connect()
      if (last) await admin.query(`drop database if exists ${last} with (force)`)
      last = `bench_${++made}`
      await admin.query(`create database ${last}`)
      await admin.query('checkpoint')
      await admin.end()
      const url = new URL(server.url)
      url.pathname = `/${last}`
      await migrate(url.href)
      return url.href
    },
    async close() {
      await server.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
