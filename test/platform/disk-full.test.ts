import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { call, until } from '../support/gateway.ts'
import { atCleanUp, cleanUp, makeDataDir } from '../support/process.ts'
import { launchOnSmallDisk, requireSmallDisks } from '../support/small-disk.ts'

afterAll(cleanUp)

const MEGABYTES = 250

/** Uses up the log segment that the server has, so that it must make another one, and cannot. */
async function giveUp(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  const write = async () => {
    await client.query(`select pg_logical_emit_message(true, 'test', 'x'), pg_switch_wal()`)
    return 'written'
  }
  await until(
    () => write().catch(error => String(error)),
    outcome => /terminated|not queryable|connection/i.test(outcome),
    30_000,
  )
}

test('embedded, and the disk is full: 503 until there is space again, the cause is named, and no 202 is lost', {
  timeout: 240_000,
}, async () => {
  requireSmallDisks()
  const folder = await makeDataDir()
  const gateway = launchOnSmallDisk(folder, MEGABYTES, { PORT: '0' })
  await gateway.printed(/API at http/)
  atCleanUp(endServer)
  const url = /API at (http:\/\/[^\s,]+)/.exec(gateway.output())![1]!
  const created = await gateway.run('company create acme --json')
  const { apiKey } = JSON.parse(created.stdout)
  const accepted: string[] = []
  const statuses = new Set<number>()
  const send = async () => {
    const text = randomBytes(30_000).toString('base64')
    const answer = await call(url, { apiKey }, 'POST', '/v1/email/send', {
      to: 'maria@example.com',
      subject: 'A',
      text,
    })
    statuses.add(answer.status)
    if (answer.status === 202) accepted.push(answer.body.outboxId)
    return answer
  }
  const get = (path: string) => call(url, { apiKey }, 'GET', path)
  for (let count = 0; count < 10; count++) expect((await send()).status).toBe(202)

  gateway.fill()
  const refused = await until(send, ({ status }) => status === 503, 60_000)
  expect(refused.headers.get('content-type')).toContain('application/problem+json')
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(refused.body).toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
  const named = new RegExp(`${folder}[^"]* is full.*bytes free`)
  const { url: databaseUrl } = JSON.parse((await gateway.run('db url --json')).stdout)
  await giveUp(databaseUrl)
  await complaints(1)
  await sleep(5_000)
  const ready = await get('/health/ready')
  expect(ready).toMatchObject({ status: 503, body: { detail: expect.stringMatching(named) } })
  expect((await get('/health/live')).status).toBe(200)
  const doctor = await gateway.run('doctor')
  expect(doctor.code).toBe(1)
  expect(doctor.stdout + doctor.stderr).toMatch(named)

  gateway.free()
  await until(send, ({ status }) => status === 202, 60_000)
  expect([...statuses].toSorted()).toEqual([202, 503])
  for (const outboxId of accepted)
    await until(
      () => get(`/v1/email/${outboxId}`),
      ({ body }) => body?.status === 'SENT',
      60_000,
    )
  expect((await get('/health/ready')).status).toBe(200)

  gateway.fill()
  await giveUp(databaseUrl)
  await complaints(2)
  gateway.signal('SIGTERM')
  expect(await gateway.exited, 'it can be stopped while the disk is full').toEqual({ code: 0, signal: null })

  /** In the log, while requests keep coming. */
  async function complaints(count: number): Promise<void> {
    const complaint = new RegExp(`"level":"error"[^\\n]*did not start: the disk of ${folder}[^\\n]* is full`)
    await until(
      async () => {
        await send()
        return gateway.output().split(complaint).length - 1
      },
      found => found >= count,
      90_000,
    )
  }

  /** What a gateway that was killed leaves running is seen by nobody outside of its name space. */
  function endServer(): void {
    const [pid] = readPid()
    if (pid) process.kill(pid, 'SIGKILL')
  }

  function readPid(): number[] {
    try {
      return [Number(readFileSync(gateway.inside('postgres/postmaster.pid'), 'utf8').split('\n')[0])]
    } catch {
      return []
    }
  }
})
