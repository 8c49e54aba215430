import type { CompanyStandingRow } from '../../companies/reputation.ts'
import { counted } from '../../console/words.ts'
import { DUE_SINCE } from '../../outbox/claim.ts'
import type { InboxState } from '../../outbox/provider-events.ts'
import { type Queryable, sql } from '../../platform/postgres/query.ts'
import type { ProviderRow } from '../../providers/state.ts'
import { rateAfter } from '../../providers/throttle.ts'
import type { RunningProcess } from '../../settings/processes.ts'
import { failed, type NamedVerdict, ok, type Verdict, warning } from './verdict.ts'

export type Health = {
  version: number
  /** Milliseconds since 1970, by the database's clock. */
  nowMs: number
  /** The last day from today on that has the partitions of every table. */
  partitionsUntil: string | null
  /** Ready e-mails, and those of them that paused companies hold back. */
  waiting: number
  held: number
  /** Since it became due. Not of a paused company, whose mail waits for an administrator. */
  oldestWaitingSeconds: number | null
  unknown: number
  deadLetters: number
  workers: { host: string; pid: number; lane: string; concurrency: number }[]
  expiredLeases: number
}

/** Counts up to 100 000, so that the query stays cheap with a large backlog. */
export async function readHealth(db: Queryable): Promise<Health> {
  const [row] = await sql<Health>(db, 'read-health')`
    select current_setting('server_version_num')::int as version, (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs",
       (select to_char(min(day) - interval '1 day', 'YYYYMMDD')
        from generate_series(date_trunc('day', now() at time zone 'UTC'), now() at time zone 'UTC' + interval '30 days', interval '1 day') day
        cross join unnest(array['email_outbox', 'email_recipients', 'email_content', 'email_attachments', 'email_events']) parent
        where not exists (select from pg_inherits where inhparent = parent::regclass
          and inhrelid = to_regclass(parent || '_' || to_char(day, 'YYYYMMDD')))) as "partitionsUntil",
       (select count(*) from (select from email_ready limit 100000) r)::int as waiting,
       (select count(*) from (select from companies c join email_ready r using (company_id) where c.paused_at is not null limit 100000) r)::int as held,
       (select extract(epoch from now() - min(${DUE_SINCE}))::float8 from (
          select outbox_id from email_ready where company_id not in (select company_id from companies where paused_at is not null) limit 100000) r
        join email_outbox o using (outbox_id)) as "oldestWaitingSeconds",
       (select count(*) from unknown_sends)::int as unknown, (select count(*) from dead_letters)::int as "deadLetters",
       coalesce((select json_agg(json_build_object('host', host, 'pid', pid, 'lane', lane, 'concurrency', concurrency) order by started_at)
         from workers where seen_at > now() - interval '15 seconds'), '[]') as workers,
       (select count(*) from leases where expires_at < now() - interval '30 seconds')::int as "expiredLeases"`
  return row!
}

/** As the alert EmailsWaiting. */
const OLD_SECONDS = 300
/** Nothing else explains it: neither a parked provider nor a limited send rate. */
const UNEXPLAINED_SECONDS = 60
/** As the alert DeadLettersMany. */
const MANY_DEAD_LETTERS = 100

type Roles = Pick<RunningProcess, 'role'>[]

const hasApi = (processes: Roles) => processes.some(one => one.role !== 'worker')

export function checkWorkers(health: Health, lane: string, processes: Roles): Verdict {
  const { workers: alive, expiredLeases, waiting, held } = health
  if (alive.length === 0) {
    // Without mail and without an API it is a gateway that was stopped, not a broken one.
    const isBroken = waiting > held || hasApi(processes)
    const start = hasApi(processes) ? 'email-gateway start --role worker' : 'email-gateway start'
    const detail = `none alive: nothing is being sent; start one with: ${start}`
    return isBroken ? failed(detail) : warning(detail)
  }
  if (alive.some(worker => worker.lane !== lane))
    return warning(`some use another lane than ${lane}: set the same REDIS_URL for all of them`)
  if (expiredLeases > 0) return warning(`${counted(expiredLeases, 'lease')} expired: no worker is running housekeeping`)
  const slots = alive.reduce((sum, { concurrency }) => sum + concurrency, 0)
  return ok(`${alive.length} alive, concurrency ${slots}`)
}

/** Only a warning: mail can also come by SQL. */
export function checkApi(processes: Roles): Verdict[] {
  if (processes.length === 0 || hasApi(processes)) return []
  return [
    warning(
      'no process accepts mail by HTTP; unless all of it comes by SQL, start one with: email-gateway start --role api',
    ),
  ]
}

export function checkProvider(row: ProviderRow): Verdict {
  const { name, state, openedAt, reasonCode, reason, probeInMs, ratePerSecond } = row
  if (state === 'closed') {
    const rate = ratePerSecond === null ? '' : `, ${ratePerSecond} recipients per second`
    return ok(`${name} is not parked${rate}${slowedTo(row)}`)
  }
  const nextTry = probeInMs === null || probeInMs <= 0 ? 'now' : `in ${Math.ceil(probeInMs / 1000)} s`
  return failed(
    `${name} parked since ${openedAt?.toISOString()} because of ${reasonCode}: ${reason}; it is tried again ${nextTry}`,
  )
}

/** The reduced send rate after the provider throttled; it recovers by itself. */
function slowedTo({ slowFrom, slowTo, slowedAgoMs }: ProviderRow): string {
  const rate = slowedAgoMs === null ? null : rateAfter({ from: slowFrom!, to: slowTo!, agoMs: slowedAgoMs })
  if (rate === null) return ''
  return `; it throttled ${Math.round(slowedAgoMs! / 1000)} s ago, so at most ${rate.toPrecision(2)} a second for now`
}

/** Mail may wait for longer while a provider is parked or throttles, or a send rate holds it back. */
export function checkBacklog(
  { waiting, held, oldestWaitingSeconds, unknown }: Health,
  providers: ProviderRow[],
  companies: { ratePerSecond: number | null }[],
): Verdict {
  const isExplained =
    companies.some(({ ratePerSecond }) => ratePerSecond !== null) ||
    providers.some(
      ({ state, ratePerSecond, slowedAgoMs }) => state === 'open' || ratePerSecond !== null || slowedAgoMs !== null,
    )
  const ofPaused = held === 0 ? '' : `, ${held} of them of paused companies`
  const detail = `${waiting} ready${ofPaused}${oldest(oldestWaitingSeconds)}; ${unknown} of unknown outcome`
  if ((oldestWaitingSeconds ?? 0) <= (isExplained ? OLD_SECONDS : UNEXPLAINED_SECONDS)) return ok(detail)
  return warning(`${detail}; see why with: email-gateway email list --status PENDING, then email explain ID`)
}

export function checkInbox({ waiting, oldestSeconds }: InboxState): Verdict {
  const detail = `${counted(waiting, 'provider event')} to process${oldest(oldestSeconds)}`
  if ((oldestSeconds ?? 0) <= OLD_SECONDS) return ok(detail)
  return warning(`${detail}; a worker processes them: email-gateway start`)
}

const oldest = (seconds: number | null) => (seconds === null ? '' : `, the oldest for ${Math.round(seconds)} s`)

export function checkStandings(companies: CompanyStandingRow[]): NamedVerdict[] {
  return companies.flatMap(({ name: company, warnReason, pausedAt, pauseReason, pausedBy }): NamedVerdict[] => {
    if (pausedAt) {
      const name = pausedBy === 'reputation' ? 'reputation' : 'paused'
      const resume = `email-gateway company resume ${company} --reason TEXT`
      return [{ name, ...warning(`${company} is paused by ${pausedBy}: ${pauseReason}; ${resume}`) }]
    }
    return warnReason ? [{ name: 'reputation', ...warning(`${company} is warned: ${warnReason}`) }] : []
  })
}

export function checkDeadLetters({ deadLetters }: Pick<Health, 'deadLetters'>): Verdict {
  const detail = counted(deadLetters, 'dead letter')
  return deadLetters > MANY_DEAD_LETTERS ? warning(`${detail}: email-gateway dlq list`) : ok(detail)
}

/** E-mails in no place, as counted last. */
export function checkLedger({ open, acknowledged }: { open: number; acknowledged: number }): Verdict {
  const known = acknowledged === 0 ? '' : `, but for ${acknowledged} acknowledged`
  if (open === 0) return ok(`accepted = ended + waiting + unknown${known}`)
  return failed(`${counted(open, 'accepted e-mail')} missing; see which, and what to do, with: email-gateway ledger`)
}
