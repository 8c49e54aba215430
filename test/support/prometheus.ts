import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { freePort } from './faults.ts'
import { makeTestFolder } from './postgres.ts'
import { ROOT } from './process.ts'
import { reapWithUs } from './reaper.ts'

type FiringAlert = { state: string; labels: Record<string, string>; annotations: Record<string, string> }
export type Prometheus = { alerts: () => Promise<FiringAlert[]>; stop: () => Promise<void> }

const FAST = '500ms'

/** A Prometheus with the committed configuration and rules, only faster: short intervals, and alerts that fire at once. */
export async function startPrometheus(target: string, token: string): Promise<Prometheus> {
  const folder = await makeTestFolder()
  const port = await freePort()
  const committed = (name: string) => readFile(join(ROOT, 'ops/prometheus', name), 'utf8')
  const config = parse(await committed('prometheus.yml'))
  config.global = { scrape_interval: FAST, scrape_timeout: FAST, evaluation_interval: FAST }
  config.scrape_configs[0].static_configs = [{ targets: [new URL(target).host] }]
  config.scrape_configs[0].authorization = { credentials: token }
  await writeFile(join(folder, 'prometheus.yml'), stringify(config))
  await writeFile(join(folder, 'alerts.yml'), (await committed('alerts.yml')).replaceAll(/^ +for: .*\n/gm, ''))
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  )
  reapWithUs(child)
  return {
    async alerts() {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/alerts`).catch(() => null)
      if (!answer?.ok) return []
      return ((await answer.json()) as { data: { alerts: FiringAlert[] } }).data.alerts
    },
    async stop() {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}
