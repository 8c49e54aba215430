import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ProcessFigures } from '../platform/telemetry/process-figures.ts'
import { makeMetrics, writeFamilies } from './metrics.ts'
import type { SystemSnapshot } from './system.ts'

/** A system that was just installed. */
const EMPTY_SNAPSHOT: SystemSnapshot = {
  counters: [],
  queue: { ready: 0, scheduled: 0, oldestWaitingSeconds: null, workers: 0, unknown: 0, oldestUnknownSeconds: null },
  deadLetters: { size: 0, youngerThan: [], ageSumSeconds: 0, lastHour: [] },
  providers: [],
  fairness: null,
  companiesWaiting: 0,
  waitingCompanies: [],
  standings: [],
  templates: [],
  suppressionSize: {},
  suppressions: [],
  inbox: { waiting: 0, oldestSeconds: null },
  webhooks: { waiting: 0, oldestSeconds: null, unservedSeconds: null, disabled: 0 },
  ledgerImbalance: 0,
  housekeeping: [],
  redis: null,
}

function made(snapshot: Partial<SystemSnapshot> = {}) {
  const figures = new ProcessFigures({ version: '0', role: 'all' }, {})
  figures.close()
  let asked = 0
  const metrics = makeMetrics(async () => {
    asked++
    return { ...EMPTY_SNAPSHOT, ...snapshot }
  }, figures)
  return { figures, metrics, asked: () => asked }
}

test('a storm of scrapes asks for the figures of the system once, and each gets the figures of this process as they are', async () => {
  const { figures, metrics, asked } = made()
  await Promise.all(Array.from({ length: 100 }, () => metrics.text()))
  for (const items of [1, 2, 3]) figures.batch('accept', items)
  expect(await metrics.text()).toContain('batch_items_count{step="accept"} 3')
  expect(asked()).toBe(1)
})

test('counters whose labels are known start at zero, so that the first increase is seen', async () => {
  const text = await made().metrics.text()
  for (const line of ['dlq_entries_total 0', 'pipeline_final_state_total{state="FAILED"} 0'])
    expect(text.split('\n')).toContain(line)
})

test('counters that an alert looks at start at zero, or the alert would miss the first of them', async () => {
  const rules = readFileSync(join(import.meta.dirname, '../../ops/prometheus/alerts.yml'), 'utf8')
  const named = new Set([...rules.matchAll(/increase\((\w+_total)/g)].map(match => match[1]!))
  // Redis counts these itself, from its start.
  named.delete('queue_redis_oom_errors_total')
  const text = await made().metrics.text()
  expect(named.size).toBeGreaterThan(3)
  for (const name of named) expect(text).toMatch(new RegExp(`^${name}(\\{.*\\})? 0$`, 'm'))
})

test('without Redis there is nothing about Redis, and one that is away is down', async () => {
  expect(await made().metrics.text()).not.toMatch(/^queue_redis/m)
  const away = await made({ redis: { up: false } }).metrics.text()
  expect(away.match(/^queue_redis.*$/gm)).toEqual(['queue_redis_up 0'])
})

test('the mail of a paused company waits without being counted as starving', async () => {
  const waiting = { ready: 1, oldestWaitingSeconds: 9, companies: 2 }
  const { metrics, figures } = made({
    waitingCompanies: [
      { companyId: 'a', ...waiting, paused: false },
      { companyId: 'b', ...waiting, paused: true },
    ],
  })
  figures.rounds.claimed(['c'])
  const text = await metrics.text()
  expect(text.match(/^tenant_rounds_without_processing.*$/gm)).toEqual([
    'tenant_rounds_without_processing{company_id="a"} 0',
  ])
  expect(text.match(/^tenant_emails_ready.*$/gm)).toHaveLength(2)
})

test('a family has its help, its type and one line for each sample', () => {
  const text = writeFamilies([
    { name: 'a_total', type: 'counter', help: 'Of a', samples: [{ value: 3 }] },
    { name: 'b', type: 'gauge', help: 'Of b', samples: [{ labels: { x: '1', y: '2' }, value: 0.5 }] },
  ])
  expect(text).toBe(
    '# HELP a_total Of a\n# TYPE a_total counter\na_total 3\n# HELP b Of b\n# TYPE b gauge\nb{x="1",y="2"} 0.5\n',
  )
})

test('quotes, backslashes and line ends in a label cannot end it', () => {
  const samples = [{ labels: { code: 'a"} 1\nb\\' }, value: 1 }]
  expect(writeFamilies([{ name: 'c', type: 'gauge', help: 'Of\nc', samples }])).toBe(
    '# HELP c Of\\nc\n# TYPE c gauge\nc{code="a\\"} 1\\nb\\\\"} 1\n',
  )
})
