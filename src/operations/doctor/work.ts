import type { CompanyStandingRow } from '../../companies/reputation.ts'
import { counted } from '../../console/words.ts'
import type { Health } from '../../outbox/health.ts'
import type { InboxState } from '../../outbox/provider-events.ts'
import type { ProviderRow } from '../../providers/state.ts'
import { rateAfter } from '../../providers/throttle.ts'
import type { RunningProcess } from '../../settings/processes.ts'
import type { Check } from './command.ts'

/** As the alert EmailsWaiting. */
const OLD_SECONDS = 300
/** Nothing else explains it: neither a parked provider nor a limited send rate. */
const UNEXPLAINED_SECONDS = 60
/** As the alert DeadLettersMany. */
const MANY_DEAD_LETTERS = 100

type Roles = Pick<RunningProcess, 'role'>[]

const hasApi = (processes: Roles) => processes.some(one => one.role !== 'worker')

export function workersOf(health: Health, lane: string, processes: Roles): Check {
  const name = 'workers'
  const { workers: alive, expiredLeases, waiting, held } = health
  if (alive.length === 0) {
    // Without mail and without an API it is a gateway that was stopped, not a broken one.
    const isBroken = waiting > held || hasApi(processes)
    const start = hasApi(processes) ? 'email-gateway start --role worker' : 'email-gateway start'
    const detail = `none alive: nothing is being sent; start one with: ${start}`
    return { name, state: isBroken ? 'failed' : 'warning', detail }
  }
  const slots = alive.reduce((sum, one) => sum + one.concurrency, 0)
  const onOtherLane = alive.filter(one => one.lane !== lane)
  if (onOtherLane.length > 0)
    return {
      name,
      state: 'warning',
      detail: `some use another lane than ${lane}: set the same REDIS_URL for all of them`,
    }
  if (expiredLeases > 0)
    return {
      name,
      state: 'warning',
      detail: `${counted(expiredLeases, 'lease')} expired: no worker is running housekeeping`,
    }
  return { name, state: 'ok', detail: `${alive.length} alive, concurrency ${slots}` }
}

/** Only a warning: mail can also come by SQL. */
export function apisOf(processes: Roles): Check[] {
  if (processes.length === 0 || hasApi(processes)) return []
  const detail =
    'no process accepts mail by HTTP; unless all of it comes by SQL, start one with: email-gateway start --role api'
  return [{ name: 'api', state: 'warning', detail }]
}

export function providerOf(row: ProviderRow): Check {
  const name = 'provider'
  if (row.state === 'closed')
    return { name, state: 'ok', detail: `${row.name} is not parked${rateOf(row.ratePerSecond)}${slowedTo(row)}` }
  const since = row.openedAt?.toISOString()
  return {
    name,
    state: 'failed',
    detail: `${row.name} parked since ${since} because of ${row.reasonCode}: ${row.reason}; ${nextTry(row.probeInMs)}`,
  }
}

function nextTry(inMs: number | null): string {
  return inMs === null || inMs <= 0 ? 'it is tried again now' : `it is tried again in ${Math.ceil(inMs / 1000)} s`
}

/** The reduced send rate after the provider throttled; it recovers by itself. */
function slowedTo({ slowFrom, slowTo, slowedAgoMs }: ProviderRow): string {
  const rate = slowedAgoMs === null ? null : rateAfter({ from: slowFrom!, to: slowTo!, agoMs: slowedAgoMs })
  if (rate === null) return ''
  return `; it throttled ${Math.round(slowedAgoMs! / 1000)} s ago, so at most ${rate.toPrecision(2)} a second for now`
}

const rateOf = (rate: number | null) => (rate === null ? '' : `, ${rate} recipients per second`)

/** Whether waiting is explained by a provider that is parked or throttles, or by a send rate. */
export function isSlow(providers: ProviderRow[], companies: { ratePerSecond: number | null }[]): boolean {
  const isLimited = ({ state, ratePerSecond, slowedAgoMs }: ProviderRow) =>
    state === 'open' || ratePerSecond !== null || slowedAgoMs !== null
  return providers.some(isLimited) || companies.some(one => one.ratePerSecond !== null)
}

/** `slow`: something is known to hold mail back, such as a parked provider or a send rate. */
export function backlogOf({ waiting, held, oldestWaitingSeconds, unknown }: Health, slow: boolean): Check {
  const ofPaused = held === 0 ? '' : `, ${held} of them of paused companies`
  const oldest = oldestWaitingSeconds === null ? '' : `, the oldest for ${Math.round(oldestWaitingSeconds)} s`
  const isOld = (oldestWaitingSeconds ?? 0) > (slow ? OLD_SECONDS : UNEXPLAINED_SECONDS)
  const mend = isOld ? '; see why with: email-gateway email list --status PENDING, then email explain ID' : ''
  const detail = `${waiting} ready${ofPaused}${oldest}; ${unknown} of unknown outcome${mend}`
  return { name: 'backlog', state: isOld ? 'warning' : 'ok', detail }
}

export function inboxOf({ waiting, oldestSeconds }: InboxState): Check {
  const oldest = oldestSeconds === null ? '' : `, the oldest for ${Math.round(oldestSeconds)} s`
  const isOld = (oldestSeconds ?? 0) > OLD_SECONDS
  const mend = isOld ? '; a worker processes them: email-gateway start' : ''
  return {
    name: 'inbox',
    state: isOld ? 'warning' : 'ok',
    detail: `${counted(waiting, 'provider event')} to process${oldest}${mend}`,
  }
}

export function standingsOf(companies: CompanyStandingRow[]): Check[] {
  return companies.flatMap(({ name: company, warnReason, pausedAt, pauseReason, pausedBy }): Check[] => {
    const resume = `email-gateway company resume ${company} --reason TEXT`
    const name = pausedAt && pausedBy !== 'reputation' ? 'paused' : 'reputation'
    if (pausedAt)
      return [{ name, state: 'warning', detail: `${company} is paused by ${pausedBy}: ${pauseReason}; ${resume}` }]
    return warnReason ? [{ name, state: 'warning', detail: `${company} is warned: ${warnReason}` }] : []
  })
}

export function deadLettersOf({ deadLetters: count }: Pick<Health, 'deadLetters'>): Check {
  const state = count > MANY_DEAD_LETTERS ? 'warning' : 'ok'
  return {
    name: 'dlq',
    state,
    detail: `${counted(count, 'dead letter')}${state === 'ok' ? '' : ': email-gateway dlq list'}`,
  }
}

/** E-mails in no place, as counted last. */
export function ledgerOf({ open, acknowledged }: { open: number; acknowledged: number }): Check {
  const name = 'ledger'
  const known = acknowledged === 0 ? '' : `, but for ${acknowledged} acknowledged`
  if (open === 0) return { name, state: 'ok', detail: `accepted = ended + waiting + unknown${known}` }
  const detail = `${counted(open, 'accepted e-mail')} missing; see which, and what to do, with: email-gateway ledger`
  return { name, state: 'failed', detail }
}
