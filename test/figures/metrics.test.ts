import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rollUpStatistics } from '../../src/companies/statistics.ts'
import { tellOfDeadLetters } from '../../src/dead-letters/notices.ts'
import { readHealth } from '../../src/operations/doctor/work.ts'
import { makeLog } from '../../src/platform/telemetry/log.ts'
import { call, startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { knownMetrics } from '../support/metric-names.ts'
import { ROOT } from '../support/process.ts'
import { startPrometheus } from '../support/prometheus.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'

const TOKEN = 'a-token-for-prometheus'
const WITH_TOKEN = { authorization: `Bearer ${TOKEN}` }
const LETTER = { to: 'maria@example.com', subject: 'Hello', text: 'It works.' }

let redis: RedisServer
let gateway: TestGateway
let company: TestCompany

beforeAll(async () => {
  redis = await startRedis()
  const env = { METRICS_PORT: '0', METRICS_TOKEN: TOKEN, REDIS_URL: redis.url, WEBHOOK_ALLOW_PRIVATE: 'true' }
  gateway = await startTestGateway({ env })
  company = await gateway.company()
  // One for every way to end: sent, refused, and to be tried again, a minute later.
  for (const to of ['maria@example.com', 'ana@example.com', 'reject@simulator.test', 'unavailable@simulator.test'])
    await gateway.call(company, 'POST', '/v1/email/send', { ...LETTER, to, retryPolicy: 'persistent' })
  // One that no process of the gateway accepts, and that its recipient complains about.
  const sql = `select put_sql_email($1, false, gen_random_uuid(), 'welcome_user', 'complaint@simulator.test', $2)`
  await gateway.db.pool.query(sql, [company.companyId, { user_data: { full_name: 'Ana' } }])
  await until(
    () =>
      gateway.db.pool.query(
        `select distinct outbox_id, type from email_events where type in ('SENT', 'REJECTED', 'RETRY_SCHEDULED', 'COMPLAINT')`,
      ),
    ({ rowCount }) => rowCount === 6,
  )
  await countEvents()
})
afterAll(async () => {
  await gateway.stop()
  await redis.close()
})

/** The event log is counted a minute late: these events have happened two minutes ago. */
async function countEvents(): Promise<void> {
  await gateway.db.pool.query(`update statistics_cursor set counted_until = now() - interval '3 minutes'`)
  await gateway.db.pool.query(`update email_events set created_at = created_at - interval '2 minutes'`)
  await rollUpStatistics(gateway.db.pool)
}

const scrape = (url = gateway.url) => call(url, null, 'GET', '/metrics', undefined, WITH_TOKEN)

describe('/metrics of a gateway with some traffic', () => {
  let text: string
  beforeAll(async () => {
    await gateway.db.pool.query(
      `insert into housekeeping_runs values ('expire-waiting-emails', 60) on conflict do nothing`,
    )
    // Requests are counted in memory and written every second.
    const parts = ['housekeeping_interval_seconds{', `email_send_requests_total{company_id="${company.companyId}"`]
    const answer = await until(scrape, ({ text }) => parts.every(part => text.includes(part)))
    text = answer.text
  })

  test('is accepted by promtool without a remark', async () => {
    expect(await promtool(['check', 'metrics'], text)).toEqual({ failed: null, stdout: '', stderr: '' })
  })

  test('has every metric there is, each with its type, and no other', async () => {
    const shown = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => `${name} ${type}`)
    expect(shown.toSorted()).toEqual((await knownMetrics()).map(({ name, type }) => `${name} ${type}`).toSorted())
  })

  test.each([
    ['pipeline_final_state_total{state="SENT"}', 3],
    ['pipeline_final_state_total{state="REJECTED"}', 1],
    ['pipeline_final_state_total{state="EXPIRED"}', 0],
    ['pipeline_validation_failures_total{validation="TEMPLATE"}', 0],
    ['retry_attempts_total{attempt="1"}', 5],
    ['retry_successes_total{attempt="1"}', 3],
    ['retry_success_rate{attempt="1"}', 0.6],
    ['pipeline_retry_count_total{category="TRANSIENT_ERROR"}', 1],
    ['dlq_entries_total', 1],
    ['dlq_size', 1],
    ['dlq_age_seconds_bucket{le="3600"}', 1],
    ['dlq_age_seconds_count', 1],
    ['dlq_by_error_code_total{code="SES_MESSAGE_REJECTED"}', 1],
    ['provider_parked{provider="capture"}', 0],
    ['queue_redis_up', 1],
    ['queue_redis_noeviction', 1],
    ['queue_redis_memory_max_bytes', 512 * 1024 * 1024],
    ['queue_redis_oom_errors_total', 0],
    ['workers_alive', 1],
    ['pipeline_state_transitions_total{state="QUEUED"}', 5],
    ['pipeline_state_transitions_total{state="SENT"}', 3],
    ['pipeline_state_transitions_total{state="COMPLAINT"}', 1],
    ['pipeline_state_transitions_total{state="DLQ_MOVED"}', 1],
    ['pipeline_processing_duration_seconds_count{state="SENT"}', 3],
    ['provider_call_duration_seconds_count{outcome="sent",provider="capture"}', 3],
    ['http_request_duration_seconds_count{method="POST",route="/v1/email/send",status="2xx"}', 4],
  ])('counts %s as %d', (series, value) => {
    expect(seriesValue(text, series)).toBeCloseTo(value)
  })

  test('names the company of each figure that is about one', () => {
    const { companyId } = company
    expect(seriesValue(text, `dlq_by_company_total{company_id="${companyId}"}`)).toBe(1)
    expect(seriesValue(text, `dlq_last_hour{company_id="${companyId}"}`)).toBe(1)
    expect(seriesValue(text, `tenant_jobs_processed_total{company_id="${companyId}"}`)).toBeGreaterThanOrEqual(3)
    expect(seriesValue(text, `tenant_consecutive_batch{company_id="${companyId}"}`)).toBeGreaterThan(0)
    expect(
      seriesValue(text, `email_send_requests_total{company_id="${companyId}",suppressed="false"}`),
    ).toBeGreaterThan(0)
  })

  test('has the figures of the process that serves it', () => {
    expect(text).toMatch(/^email_gateway_info\{version="[\d.]+",role="all"\} 1$/m)
    expect(seriesValue(text, 'process_resident_memory_bytes')).toBeGreaterThan(1e7)
    expect(seriesValue(text, 'postgres_pool_waiting{pool="claims"}')).toBe(0)
    expect(seriesValue(text, 'batch_items_count{step="accept"}')).toBeGreaterThan(0)
    for (const step of ['claim', 'start', 'settle']) expect(text).toContain(`batch_items_count{step="${step}"}`)
    expect(seriesValue(text, 'event_loop_lag_p99_seconds')).toBeGreaterThanOrEqual(0)
  })
})

describe('METRICS_PORT', () => {
  const at = (path: string, headers = {}) => call(gateway.metricsUrl!, null, 'GET', path, undefined, headers)

  test('serves the same metrics, behind the same token, and the health checks without it', async () => {
    expect((await at('/metrics', WITH_TOKEN)).text).toContain('dlq_size ')
    expect(await at('/metrics')).toMatchObject({ status: 401, body: { code: 'METRICS_UNAUTHENTICATED' } })
    for (const path of ['/health/live', '/health/ready'])
      expect(await at(path)).toMatchObject({ status: 200, body: { status: 'ok' } })
  })

  test('serves nothing else', async () => {
    for (const path of ['/', '/docs', '/v1/email/send', '/admin/companies']) expect((await at(path)).status).toBe(404)
  })
})

test('what waits of a company is counted, and how long', async () => {
  const { companyId, ...paused } = await gateway.company()
  await gateway.db.pool.query(`update companies set paused_at = now(), pause_reason = 'A test' where company_id = $1`, [
    companyId,
  ])
  for (const priority of [3, 7]) await gateway.call(paused, 'POST', '/v1/email/send', { ...LETTER, priority })
  const { text } = await until(
    scrape,
    ({ text }) => seriesValue(text, `tenant_emails_ready{company_id="${companyId}"}`) === 2,
  )
  expect(seriesValue(text, `tenant_oldest_waiting_seconds{company_id="${companyId}"}`)).toBeGreaterThan(0)
  // Their mail waits for an administrator: neither this figure, nor `doctor`, nor the alert counts its age.
  expect(seriesValue(text, 'oldest_waiting_email_seconds')).toBe(0)
  expect(await readHealth(gateway.db.pool)).toMatchObject({ waiting: 2, held: 2, oldestWaitingSeconds: null })
  expect(seriesValue(text, 'companies_waiting')).toBe(1)
  expect(seriesValue(text, `company_paused{company_id="${companyId}"}`)).toBe(1)
})

test('companies beyond the two hundred first are one: other', async () => {
  const { pool } = gateway.db
  await pool.query(
    `insert into counters select 'tenant_jobs_processed', gen_random_uuid(), 1000 + n from generate_series(1, 250) n`,
  )
  await pool.query(
    `insert into counters select 'email_send_requests', id || suppressed, 1000 + n
     from (select gen_random_uuid() as id, n from generate_series(1, 250) n) companies, unnest(array[' false', ' true']) as suppressed`,
  )
  const { text } = await until(scrape, ({ text }) => text.includes('tenant_jobs_processed_total{company_id="other"}'))
  const series = (name: string) => text.split('\n').filter(line => line.startsWith(`${name}{`))
  expect(series('tenant_jobs_processed_total')).toHaveLength(201)
  expect(series('email_send_requests_total')).toHaveLength(402)
  const others = 250 - 200
  const sumOfOthers = others * 1000 + (others * (others + 1)) / 2
  expect(seriesValue(text, 'tenant_jobs_processed_total{company_id="other"}')).toBeGreaterThanOrEqual(sumOfOthers)
  await pool.query(
    `delete from counters where name in ('tenant_jobs_processed', 'email_send_requests') and value > 1000`,
  )
})

describe('a company with more than 50 dead letters within an hour', () => {
  const log = makeLog({ level: 'silent', pretty: false })
  const notices = async () =>
    (await gateway.db.pool.query(`select company_id, data from webhook_deliveries where type = 'company.dead_letters'`))
      .rows

  test('are reported by a webhook, once an hour, with how many and why', async () => {
    const { pool } = gateway.db
    const endpoint = { url: 'http://127.0.0.1:9/hooks', eventTypes: ['company.dead_letters'] }
    expect((await gateway.call(company, 'POST', '/v1/webhooks', endpoint)).status).toBe(201)
    const [{ outbox_id }] = (await pool.query(`select outbox_id from dead_letters`)).rows
    const copy = (count: number, age: string) =>
      pool.query(
        `with copied as (insert into email_outbox select (o2).* from (
           select jsonb_populate_record(o, jsonb_build_object('outbox_id', uuid_v7_now())) as o2
           from email_outbox o, generate_series(1, $2::int) where outbox_id = $1) c returning outbox_id)
         insert into dead_letters select (d2).* from (
           select jsonb_populate_record(d, jsonb_build_object('outbox_id', c.outbox_id, 'moved_at', now() - $3::interval)) as d2
           from dead_letters d, copied c where d.outbox_id = $1) c`,
        [outbox_id, count, age],
      )
    await copy(49, '1 minute')
    await copy(30, '2 hours')
    expect(await tellOfDeadLetters(pool, log)).toBe(0)
    await copy(1, '1 minute')
    expect(await tellOfDeadLetters(pool, log)).toBe(1)
    expect(await tellOfDeadLetters(pool, log)).toBe(0)
    expect(await notices()).toEqual([
      {
        company_id: company.companyId,
        data: {
          companyId: company.companyId,
          deadLetters: 51,
          windowSeconds: 3600,
          codes: [{ code: 'SES_MESSAGE_REJECTED', deadLetters: 51 }],
        },
      },
    ])
    await pool.query(`update dead_letter_notices set told_at = told_at - interval '61 minutes'`)
    expect(await tellOfDeadLetters(pool, log)).toBe(1)
    expect(await notices()).toHaveLength(2)
  })

  test('fires its alert in a real Prometheus, which says what to do', async () => {
    const prometheus = await startPrometheus(gateway.metricsUrl!, TOKEN)
    try {
      const alerts = await until(
        prometheus.alerts,
        found => found.some(one => one.labels.alertname === 'DeadLettersOfCompany'),
        30_000,
      )
      const alert = alerts.find(one => one.labels.alertname === 'DeadLettersOfCompany')
      expect(alert).toMatchObject({
        state: 'firing',
        labels: { company_id: company.companyId, severity: 'warning' },
        annotations: { runbook_url: 'docs/runbook.md#deadlettersofcompany' },
      })
      expect(alert!.annotations.description).toContain(`The company ${company.companyId} has 51.`)
      // Nothing else is wrong with this gateway, though a busy machine may answer one scrape too late.
      const others = new Set(alerts.map(one => one.labels.alertname))
      others.delete('GatewayDown')
      expect([...others]).toEqual(['DeadLettersOfCompany'])
    } finally {
      await prometheus.stop()
    }
  })
})

test('the configuration, the rules and the tests of the rules are accepted by promtool', async () => {
  const folder = join(ROOT, 'ops/prometheus')
  expect(await promtool(['check', 'config', join(folder, 'prometheus.yml')])).toMatchObject({ failed: null })
  const tests = ['alerts.test.yml', 'alerts-over-days.test.yml'].map(name => join(folder, name))
  expect(await promtool(['test', 'rules', ...tests])).toMatchObject({ failed: null, stderr: '' })
})

function promtool(args: string[], input = '') {
  return new Promise(resolve => {
    const child = execFile('promtool', args, (failed, stdout, stderr) => resolve({ failed, stdout, stderr }))
    child.stdin!.end(input)
  })
}

/** The value of a series, whatever the order of its labels. */
function seriesValue(text: string, series: string): number {
  const [, name, labels = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(series)!
  const sorted = (list: string) => list.split(',').toSorted().join()
  const line = text
    .split('\n')
    .map(one => /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(one))
    .find(one => one?.[1] === name && sorted(one?.[2] ?? '') === sorted(labels))
  return line ? Number(line[3]) : Number.NaN
}
