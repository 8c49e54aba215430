import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Demo, startDemo } from '../../src/operations/demo/demo.ts'
import { makeLog } from '../../src/platform/telemetry/log.ts'
import { call, until } from '../support/gateway.ts'

const PASSWORD = 'correct horse battery'
const BASIC = { authorization: `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}` }

let dataDir: string
let demo: Demo

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'email-gateway-demo-test-'))
  demo = await startDemo({ dataDir, port: 0, password: PASSWORD, log: makeLog({ level: 'silent', pretty: false }) })
}, 60_000)
afterAll(async () => {
  await demo?.stop()
  if (demo?.databaseFolder && !demo.databaseFolder.startsWith(dataDir))
    await rm(dirname(demo.databaseFolder), { recursive: true, force: true })
  await rm(dataDir, { recursive: true, force: true })
})

const ask = async (path: string) => (await call(demo.url, null, 'GET', path, undefined, BASIC)).body

test('every view has something to show, and the traffic flows to its different ends', async () => {
  expect(demo.signInLink).toMatch(new RegExp(`^${demo.url}/admin/sign-in#token=`))
  expect((await ask('/admin/companies')).data).toHaveLength(6)
  expect((await ask('/admin/suppression?limit=1')).data).toHaveLength(1)
  const stats = await ask('/admin/stats')
  expect(JSON.stringify(stats)).toMatch(/[1-9]\d{3}/)
  // All at once: some are passed through quickly.
  const missing = new Set([
    'RETRY_SCHEDULED',
    'DELIVERED',
    'CANCELLED',
    'EXPIRED',
    'FAILED',
    'PENDING',
    'UNKNOWN',
    'DLQ',
  ])
  const look = async (status: string) => {
    if ((await ask(`/admin/emails?status=${status}&limit=1`)).data.length > 0) missing.delete(status)
  }
  await until(
    async () => {
      await Promise.all([...missing].map(look))
      return [...missing]
    },
    left => left.length === 0,
    40_000,
  )
  const [expired] = (await ask('/admin/emails?status=EXPIRED&limit=1')).data
  expect(Date.parse(expired.failedAt) - Date.parse(expired.createdAt)).toBeGreaterThanOrEqual(24 * 3_600_000)
  expect((await ask(`/admin/ledger?since=${expired.createdAt.slice(0, 10)}`)).balanced).toBe(true)
  await until(
    async () => (await ask('/admin/inbox?limit=1')).data,
    data => data.length > 0,
  )
}, 60_000)

test('ends when it is told to, and its database with it', async () => {
  await demo.stop()
  await expect(fetch(demo.url)).rejects.toThrow()
  expect(existsSync(join(demo.databaseFolder!, 'postmaster.pid'))).toBe(false)
}, 30_000)
