import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { inject } from 'vitest'
import type { TestProject } from 'vitest/node'
import { openEmbeddedPostgres } from '../../src/platform/postgres/embedded/index.ts'
import { findFreePort, isAlive, run } from '../../src/platform/postgres/embedded/system.ts'
import { migrate } from '../../src/platform/postgres/migrate.ts'
import { ensurePartitions } from '../../src/platform/postgres/partitions.ts'
import { buildFakeSes } from './spawn-fake-ses.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string
    /** A data directory with a migrated cluster that never ran for anybody, to be copied; empty where that cannot be done. */
    madeCluster: string
    /** The program of the fake SES. */
    fakeSes: string
  }
}

const TEMPLATE = 'gateway_template'
const FOLDER = 'email-gateway-test-'

/** Nothing here outlives the run, so it need not reach the disk; everything else is as in production. */
const FAST = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' }
/** Passwords of the run's own server are as random as any, and thousands of connections each hash them: half of what a connection costs. */
const FEWEST_HASHES = 'set scram_iterations = 1'

/** One server for the whole run, with a migrated database for the tests to clone, and a cluster for those with their own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeLeftovers()
  const folder = await makeTestFolder()
  const madeCluster = await makeCluster(folder)
  const fakeSes = join(folder, 'fake-ses.mjs')
  const server = await openEmbeddedPostgres({ dataDir: folder, use: 'command', settings: FAST })
  const teardown = async () => {
    await server.close()
    await rm(folder, { recursive: true, force: true })
    if (!server.directory.startsWith(folder)) await rm(dirname(server.directory), { recursive: true, force: true })
  }
  try {
    await hashPasswordOnce(server.url)
    await makeTemplate(server.url)
    await buildFakeSes(fakeSes)
  } catch (error) {
    await teardown()
    throw error
  }
  project.provide('postgresUrl', server.url)
  project.provide('madeCluster', madeCluster)
  project.provide('fakeSes', fakeSes)
  return teardown
}

/** A database of one's own, migrated and empty. Its files are copied: to write them to the log, as by default, takes twice the time. */
export async function createTestDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const admin = inject('postgresUrl')
  const name = `test_${randomBytes(6).toString('hex')}`
  await execute(admin, `create database ${name} template ${TEMPLATE} strategy file_copy`)
  return { url: databaseUrl(admin, name), drop: () => execute(admin, `drop database if exists ${name} with (force)`) }
}

/** The run's own cluster before its server is used, kept apart. */
async function makeCluster(folder: string): Promise<string> {
  const server = await openEmbeddedPostgres({ dataDir: folder, use: 'command', settings: FAST })
  await prepare(server.url)
  await server.close()
  if (!server.directory.startsWith(folder)) return ''
  const kept = join(folder, 'made')
  await mkdir(kept, { mode: 0o711 })
  for (const name of ['postgres', 'postgres.json']) await copy(join(folder, name), kept)
  return kept
}

/** Spares a test that is not about the first start the seconds of initdb and of the migrations. */
export async function putMadeCluster(dataDir: string): Promise<void> {
  const made = inject('madeCluster')
  if (made === '') return
  await mkdir(dataDir, { recursive: true, mode: 0o711 })
  await copy(`${made}/.`, dataDir)
  const file = join(dataDir, 'postgres.json')
  const memory = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(file, JSON.stringify({ ...memory, port: await findFreePort() }))
}

/** With the owners that the server insists on. */
async function copy(from: string, to: string): Promise<void> {
  const { code, output } = await run('cp', ['-a', from, to])
  if (code !== 0) throw new Error(`cp: ${output}`)
}

/** Stores the same password as a hash that is cheap to compare. */
async function hashPasswordOnce(url: string): Promise<void> {
  await connected(url, async client => {
    await client.query(FEWEST_HASHES)
    await client.query(
      `alter role current_user password ${client.escapeLiteral(decodeURIComponent(new URL(url).password))}`,
    )
  })
}

/** For the tests to clone. */
export async function makeTemplate(admin: string): Promise<void> {
  await execute(admin, `create database ${TEMPLATE}`)
  await prepare(databaseUrl(admin, TEMPLATE))
  await execute(admin, `alter database ${TEMPLATE} with is_template true allow_connections false`)
}

/** With the partitions of these days, which every gateway would make for itself. */
async function prepare(url: string): Promise<void> {
  await migrate(url)
  await connected(url, ensurePartitions)
}

const execute = (url: string, sql: string) => connected(url, client => client.query(sql))

async function connected(url: string, use: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await use(client).finally(() => client.end())
}

function databaseUrl(admin: string, name: string): string {
  const url = new URL(admin)
  url.pathname = `/${name}`
  return url.href
}

/** For a data directory; passable, since as root the server runs as another user. */
export async function makeTestFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `${FOLDER}${process.pid}-`))
  await chmod(folder, 0o711)
  return folder
}

/** A run that was killed leaves its servers and its folders behind. */
export async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(FOLDER) || isAlive(Number(name.slice(FOLDER.length).split('-')[0]))) continue
    const dataDir = join(tmpdir(), name)
    if (existsSync(join(dataDir, 'postgres.json'))) {
      const orphan = await openEmbeddedPostgres({ dataDir, use: 'command' }).catch(() => undefined)
      await orphan?.close()
    }
    await rm(dataDir, { recursive: true, force: true }).catch(() => undefined)
  }
}
