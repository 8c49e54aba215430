import { cachedQuery } from '../runtime/cached-query.ts'
import type { ProcessFigures } from './process/figures.ts'
import { systemText } from './system/index.ts'
import type { SystemSnapshot } from './system/snapshot.ts'

/** Many scrapes at once, or several processes that are scraped, ask Postgres no more often than this. */
const SYSTEM_CACHE_MS = 2_000
/** On a slow database they are older, so that at most this part of the time is spent on reading them. */
const SYSTEM_SHARE = 1 / 5
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export type Metrics = { contentType: string; text: () => Promise<string> }

/** The text of /metrics: first the figures about the whole system, then those about this process. */
export function makeMetrics(readSystem: () => Promise<SystemSnapshot>, figures: ProcessFigures): Metrics {
  const readCached = cachedQuery(SYSTEM_CACHE_MS, readText, { maxShare: SYSTEM_SHARE })

  async function readText() {
    const snapshot = await readSystem()
    const waiting = snapshot.waitingCompanies.filter(one => !one.paused).map(one => one.companyId)
    return { text: systemText(snapshot), waiting }
  }

  async function text(): Promise<string> {
    const system = await readCached()
    figures.rounds.show(system.waiting)
    return system.text + (await figures.text())
  }

  return { contentType: CONTENT_TYPE, text }
}
