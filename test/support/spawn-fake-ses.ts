import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { inject } from 'vitest'
import { readAcceptLog } from './accept-log.ts'
import type { FakeStats } from './fake-provider-state.ts'
import type { SesAcceptance, SesControl } from './fake-ses.ts'

export type SpawnedFakeSes = {
  url: string
  pid: number
  control: (change: SesControl) => Promise<void>
  stats: () => Promise<FakeStats>
  /** From the file, so also after a kill. */
  accepted: () => SesAcceptance[]
  kill: (signal?: NodeJS.Signals) => Promise<void>
}

/** All of the fake in one file of plain JavaScript: to translate and load its parts for each process takes half a second. */
export async function buildFakeSes(file: string): Promise<void> {
  const script = join(import.meta.dirname, 'fake-ses-process.ts')
  const bundle = await rolldown({ input: script, platform: 'node', logLevel: 'warn' })
  await bundle.write({ file })
  await bundle.close()
}

/** The fake in a process of its own, whose log of accepted messages outlives every kill -9 around it. */
export async function spawnFakeSes({ logFile, port = 0 }: { logFile: string; port?: number }): Promise<SpawnedFakeSes> {
  const child = spawn(process.execPath, [inject('fakeSes'), logFile, String(port)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const first = await Promise.race([once(child.stdout, 'data'), exited.then(([code]) => [`ended with ${code}`])])
  const url = /http:\S+/.exec(String(first[0]))?.[0]
  if (!url) throw new Error(`The fake SES did not start: ${first[0]}`)
  return {
    url,
    pid: child.pid!,
    async control(change) {
      const answer = await fetch(`${url}/control`, { method: 'PUT', body: JSON.stringify(change) })
      if (!answer.ok) throw new Error(`The fake SES refused its control: ${await answer.text()}`)
    },
    stats: async () => (await (await fetch(`${url}/control/stats`)).json()) as FakeStats,
    accepted: () => readAcceptLog<SesAcceptance>(logFile),
    async kill(signal = 'SIGKILL') {
      child.kill(signal)
      await exited
    },
  }
}
