import { encrypt, keyRing } from '../../src/platform/encryption.ts'
import type { Database } from '../../src/platform/postgres/pool.ts'
import { makeWebhookSecret } from '../../src/webhooks/deliver.ts'

export type Kind = 'ok' | 'fail' | 'hang'

const COMPANIES = 10

/** Endpoints of ten companies, so many of each kind. */
export async function makeEndpoints(
  db: Database,
  encryptionKeys: string[],
  receiverUrls: Record<Kind, string>,
  counts: Record<Kind, number>,
): Promise<void> {
  const keys = keyRing(encryptionKeys)
  const { rows } = await db.pool.query<{ company_id: string }>(
    `insert into companies (company_id, name) select gen_random_uuid(), 'company-' || n from generate_series(1, $1::int) n
     returning company_id`,
    [COMPANIES],
  )
  const companies = rows.map(row => row.company_id)
  const ciphers = companies.map(companyId =>
    encrypt(makeWebhookSecret(), keys, { companyId, column: 'webhook_endpoints.secret' }),
  )
  for (const [kind, count] of Object.entries(counts) as [Kind, number][]) {
    await db.pool.query(
      `with made as (
         insert into webhook_endpoints (endpoint_id, company_id, url, event_types, secret_cipher)
         select gen_random_uuid(), ($4::uuid[])[n % $5::int + 1], $2::text || n,
           array['email.sent'], ($3::bytea[])[n % $5::int + 1] from generate_series(1, $1::int) n returning endpoint_id
       )
       insert into webhook_state (endpoint_id) select endpoint_id from made`,
      [count, `${receiverUrls[kind]}/${kind}/`, ciphers, companies, COMPANIES],
    )
  }
}

let enqueued = 0

/** So many e-mails that were sent, and a delivery for each, over the endpoints of these kinds in turn. */
export async function enqueue(db: Database, count: number, kinds: Kind[]): Promise<void> {
  if (count === 0) return
  enqueued += count
  await db.pool.query(
    `with endpoints as materialized (
       select endpoint_id, company_id, row_number() over (order by endpoint_id) - 1 as place, count(*) over () as all_of_them
       from webhook_endpoints where url ~ $3
     ), input as materialized (
       select e.endpoint_id, e.company_id, uuid_v7_now() as outbox_id, uuid_v7_now() as event_id
       from generate_series(1, $1::int) n join endpoints e on e.place = (n + $2::int) % e.all_of_them
     ), emails as (
       insert into email_outbox (outbox_id, company_id, status, request_id, test, from_address, subject, priority, retry_policy, on_unknown,
         attempts, max_attempts, expires_at, message_id, sent_at)
       select outbox_id, company_id, 'SENT', 'r-1', false, 'shop@example.com', 'Your order', 5, 'steps', 'resend', 1, 5,
         now() + interval '1 day', outbox_id::text, now() from input
     ), recipients as (
       insert into email_recipients (outbox_id, ordinal, kind, address, status) select outbox_id, 0, 'to', 'maria@example.com', 'SENT' from input
     ), events as (
       insert into email_events (outbox_id, event_id, company_id, type, metadata)
       select outbox_id, event_id, company_id, 'SENT', jsonb_build_object('messageId', outbox_id, 'attempts', 1, 'processingTimeMs', 12) from input
     ), deliveries as (
       insert into webhook_deliveries (endpoint_id, delivery_id, company_id, type, outbox_id, event_id, created_at)
       select endpoint_id, uuid_v7_now(), company_id, 'email.sent', outbox_id, event_id, clock_timestamp() from input
       returning endpoint_id, sequence, delivery_id
     )
     insert into webhook_ready (endpoint_id, sequence, delivery_id) select endpoint_id, sequence, delivery_id from deliveries`,
    [count, enqueued, `/(${kinds.join('|')})/`],
  )
}
