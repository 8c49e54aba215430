import pg from 'pg'
import { BODY, databaseUrlOf } from './accept.ts'
import { type Load, measure, ratios, spread } from './support/measure.ts'
import { type RunningGateway, startOurs } from './support/processes.ts'
import { writeResults } from './support/results.ts'

const ROWS = 1_000_000
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const LOAD: Load = { connections: 64, seconds: Number(process.env.SECONDS ?? 8), warmUpSeconds: 2 }

const TABLES =
  'email_outbox, email_recipients, email_content, email_attachments, email_events, email_ready, email_scheduled'

/** Sent mail of a hundred companies, all of it in today's partition: the one that new mail goes to. */
const FILL = `
with ids as materialized (
  select (left(hex, 8) || '-' || right(hex, 4) || '-7' || substr(md5(n::text), 1, 3) || right(gen_random_uuid()::text, 18))::uuid as id,
    md5((n % 100)::text)::uuid as company, n
  from generate_series(1, ${ROWS}) n
  cross join lateral (select lpad(to_hex((extract(epoch from greatest(date_trunc('day', now() at time zone 'UTC') at time zone 'UTC',
    now() - interval '6 hours') + (now() - greatest(date_trunc('day', now() at time zone 'UTC') at time zone 'UTC',
    now() - interval '6 hours')) * (n::float8 / ${ROWS})) * 1000)::bigint), 12, '0') as hex) t
), o as (
  insert into email_outbox (outbox_id, company_id, status, request_id, test, from_address, subject, tags, priority, retry_policy,
    on_unknown, max_attempts, attempts, expires_at, provider, message_id, sent_at)
  select id, company, 'SENT', 'bench-' || n, false, 'noreply@example.com', 'Seu boleto', '{boleto}', 5, 'steps', 'resend', 5, 1,
    now() + interval '1 day', 'capture', 'm-' || n, now() from ids
), r as (
  insert into email_recipients (outbox_id, ordinal, kind, address, address_key, status)
  select id, 0, 'to', 'user' || n || '@example.com', hashint8extended(n, 7), 'SENT' from ids
), c as (
  insert into email_content (outbox_id, html) select id, $1 from ids
)
insert into email_events (outbox_id, company_id, type, metadata) select id, company, 'QUEUED', '{"priority": 5}' from ids`

/** Accepting with a million e-mails already there, against an empty outbox. */
export async function benchAcceptMillion(): Promise<void> {
  const [full, empty] = [await startOurs(), await startOurs()]
  try {
    const [fullDb, emptyDb] = [await connect(full), await connect(empty)]
    console.log('filling …')
    await fullDb.query(FILL, [BODY.html])
    await fullDb.query('vacuum analyze')
    await fullDb.query('checkpoint')
    const perSecond: Record<'full' | 'empty', number[]> = { full: [], empty: [] }
    for (let round = 1; round <= ROUNDS; round++) {
      await emptyDb.query(`truncate ${TABLES}`)
      for (const [name, gateway] of [
        ['empty', empty],
        ['full', full],
      ] as const) {
        const target = { name, url: gateway.url, headers: { 'x-api-key': gateway.apiKey }, body: JSON.stringify(BODY) }
        const figure = await measure(target, LOAD)
        perSecond[name].push(figure.perSecond)
        console.log(`round ${round} ${name}: ${figure.perSecond.toFixed(0)}/s refused ${figure.refused}`)
      }
    }
    await Promise.all([fullDb.end(), emptyDb.end()])
    writeResults('accept-million', [
      `${LOAD.connections} connections, ${ROUNDS} rounds of ${LOAD.seconds} s; the other outbox is emptied before each round.`,
      '',
      '| figure | target | measured |',
      '|---|---|---|',
      `| accept with ${ROWS} rows in the outbox ÷ accept with none | ≥ 0.9 | ${spread(ratios(perSecond.full, perSecond.empty), 2)} |`,
      '',
      `Per second: ${spread(perSecond.full)} with, ${spread(perSecond.empty)} without.`,
    ])
  } finally {
    await full.stop()
    await empty.stop()
  }
}

async function connect(gateway: RunningGateway): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrlOf(gateway) })
  await client.connect()
  return client
}
