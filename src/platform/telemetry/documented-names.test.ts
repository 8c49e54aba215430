import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { knownMetrics, queryNames } from '../../../test/support/metric-names.ts'
import { ROOT_ATTRIBUTES, STEP_ATTRIBUTES } from './tracing.ts'

const ROOT = join(import.meta.dirname, '../../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

type Rule = {
  alert: string
  expr: string
  for?: string
  labels: Record<string, string>
  annotations: Record<string, string>
}
const rules: Rule[] = parse(read('ops/prometheus/alerts.yml')).groups.flatMap((one: { rules: Rule[] }) => one.rules)

const DASHBOARDS = 'ops/grafana/dashboards'
type Panel = { title: string; targets: { expr: string }[] }
const dashboards = readdirSync(join(ROOT, DASHBOARDS)).map(name => {
  const { uid, panels } = JSON.parse(read(`${DASHBOARDS}/${name}`)) as { uid: string; panels: Panel[] }
  return { name, uid, queries: panels.flatMap(panel => panel.targets.map(target => target.expr)) }
})

/** Names that a query of Prometheus has beside those of metrics. */
const NOT_OURS = new Set(['up', 'by', 'on', 'and', 'or', 'unless', 'absent', 'le', 'sum', 'min', 'max', 'time'])
const FUNCTIONS = /\b(rate|increase|delta|histogram_quantile|topk|bottomk|count)\b/g

/** Words that are neither in a string, nor a label in braces or after `by` and `on`, nor a range. */
function metricsIn(query: string): string[] {
  const bare = query
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\b(by|on) \([^)]*\)/g, '')
    .replaceAll(FUNCTIONS, '')
  return [...bare.matchAll(/[a-z_][a-z0-9_]*/gi)].map(([word]) => word).filter(word => !NOT_OURS.has(word))
}

test('the names of metrics are found in a query', () => {
  const query =
    'sum by (state, le) (rate(a_bucket{state=~"x|y",b="c"}[5m])) / (max(d) > 0) and on (task) time() - e_total'
  expect(metricsIn(query)).toEqual(['a_bucket', 'd', 'e_total'])
})

describe('docs/metrics.md', () => {
  const rows = [...read('docs/metrics.md').matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*)\|/gm)]
  const documented = rows.map(([, name, type, labels]) => ({
    name: name!,
    type: type!,
    labels: [...labels!.matchAll(/`(\w+)`/g)].map(match => match[1]!),
  }))

  test('describes every metric with its type, and no other', async () => {
    const lines = (list: { name: string; type: string }[]) => list.map(({ name, type }) => `${name} ${type}`).toSorted()
    expect(lines(documented)).toEqual(lines(await knownMetrics()))
  })

  test('names the labels of each figure about the system', async () => {
    for (const { name, labels } of await knownMetrics())
      if (labels) expect({ name, labels: documented.find(one => one.name === name)?.labels }).toEqual({ name, labels })
  })

  test('has each in the table of its kind', async () => {
    const [, system, process] = read('docs/metrics.md').split(/^## Figures about /m)
    for (const { name, about } of await knownMetrics())
      expect(about === 'system' ? system : process).toContain(`\n| \`${name}\` |`)
  })
})

test('docs/logs.md names every span with its attributes, and no other', () => {
  const [, table = ''] = read('docs/logs.md').split('| span | parent | is | attributes |\n')
  const documented = [...table.split('\n\n')[0]!.matchAll(/^\| `([^`]+)` \|.*\| ([^|]+) \|$/gm)].map(
    ([, name, list]) => [name, [...list!.matchAll(/`([^`]+)`/g)].map(match => match[1])],
  )
  expect(documented).toEqual(Object.entries({ ...ROOT_ATTRIBUTES, ...STEP_ATTRIBUTES }))
})

describe('the alerts', () => {
  test('query metrics that there are', async () => {
    const names = queryNames(await knownMetrics())
    for (const { alert, expr } of rules)
      for (const name of metricsIn(expr)) expect(names, `${name} of ${alert}`).toContain(name)
  })

  test('have a severity, say what is wrong and what to do, and lead into the runbook', () => {
    const anchors = [...read('docs/runbook.md').matchAll(/^#+ (.*)$/gm)].map(([, title]) => anchorOf(title!))
    for (const { alert, labels, annotations } of rules) {
      expect(['warning', 'critical']).toContain(labels.severity)
      expect(annotations.summary, alert).toMatch(/\S{3}/)
      expect(annotations.description!.length, alert).toBeGreaterThan(40)
      const [page, anchor] = annotations.runbook_url!.split('#')
      expect([page, anchors.includes(anchor!)], alert).toEqual(['docs/runbook.md', true])
    }
  })

  test('each have a case in which they fire and one in which they are quiet', () => {
    const cases = ['alerts.test.yml', 'alerts-over-days.test.yml'].flatMap(name =>
      (parse(read(`ops/prometheus/${name}`)).tests as { name: string }[]).map(one => one.name),
    )
    expect(cases.toSorted()).toEqual(rules.flatMap(({ alert }) => [`${alert} fires`, `${alert} is quiet`]).toSorted())
  })

  test('join figures of the system with max or min, never with a bare sum', async () => {
    const system = (await knownMetrics()).filter(one => one.about === 'system').map(one => one.name)
    for (const { alert, expr } of [
      ...rules,
      ...dashboards.flatMap(one => one.queries.map(expr => ({ alert: one.name, expr }))),
    ])
      for (const name of system.filter(one => metricsIn(expr).includes(one)))
        expect(expr, `${name} in ${alert}`).toMatch(
          new RegExp(`(max|min)( by \\([^)]*\\))? \\(?[^+/]*\\b${name}\\b|(max|min)\\([^+/]*\\b${name}\\b`),
        )
  })
})

describe('the dashboards', () => {
  test.each(dashboards)('of $name query metrics that there are', async ({ queries }) => {
    const names = queryNames(await knownMetrics())
    expect(queries.length).toBeGreaterThan(4)
    for (const query of queries) for (const name of metricsIn(query)) expect(names, query).toContain(name)
  })

  test('are one for each subject, and together show every metric', async () => {
    expect(dashboards.map(one => one.name)).toEqual(
      ['dead-letters', 'delivery', 'fairness', 'pipeline', 'providers', 'suppression', 'webhooks'].map(
        one => `${one}.json`,
      ),
    )
    expect(new Set(dashboards.map(one => one.uid)).size).toBe(dashboards.length)
    const shown = new Set(dashboards.flatMap(one => one.queries.flatMap(metricsIn)))
    const missing = (await knownMetrics()).filter(
      ({ name }) => ![name, `${name}_bucket`, `${name}_sum`, `${name}_count`].some(one => shown.has(one)),
    )
    expect(missing.map(one => one.name)).toEqual(NOT_SHOWN)
  })
})

/** They are of no use as a line over time. */
const NOT_SHOWN = [
  'housekeeping_interval_seconds',
  'email_gateway_info',
  'process_start_time_seconds',
  'event_loop_lag_p50_seconds',
]

/** As GitHub makes them. */
const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
