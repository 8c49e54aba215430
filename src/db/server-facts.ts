import { type Queryable, run } from './query.ts'

type TableFacts = { name: string; live: number; dead: number; vacuumedSecondsAgo: number | null }

/** What `doctor` judges of the database server. */
export type ServerFacts = {
  fsync: boolean
  fullPageWrites: boolean
  synchronousCommit: string
  autovacuum: boolean
  maxConnections: number
  connections: number
  databaseBytes: number
  /** Transactions since the oldest that is not frozen; at two thousand million the server stops. */
  transactionAge: number
  /** Of the oldest open transaction: what it may still see cannot be vacuumed. */
  oldestTransactionSeconds: number | null
  oldestTransactionPid: number | null
  /** The table with the most dead rows. */
  worstTable: TableFacts | null
  /** The newest migration that has been applied. */
  schemaVersion: number
  /** A standby, or default_transaction_read_only. */
  readOnly: 'standby' | 'setting' | null
}

export async function readServerFacts(db: Queryable): Promise<ServerFacts> {
  const [row] = await run<ServerFacts>(
    db,
    'read-server-facts',
    `with oldest as (
       select pid, extract(epoch from now() - xact_start)::float8 as seconds from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null and backend_type = 'client backend'
       order by xact_start limit 1
     ), worst as (
       select json_build_object('name', relname, 'live', n_live_tup, 'dead', n_dead_tup,
         'vacuumedSecondsAgo', extract(epoch from now() - greatest(last_vacuum, last_autovacuum))) as facts
       from pg_stat_user_tables order by n_dead_tup desc limit 1
     )
     select current_setting('fsync')::boolean as fsync, current_setting('full_page_writes')::boolean as "fullPageWrites",
       current_setting('synchronous_commit') as "synchronousCommit", current_setting('autovacuum')::boolean as autovacuum,
       current_setting('max_connections')::int as "maxConnections",
       (select count(*) from pg_stat_activity where backend_type = 'client backend')::int as connections,
       pg_database_size(current_database())::float8 as "databaseBytes",
       (select age(datfrozenxid) from pg_database where datname = current_database()) as "transactionAge",
       (select seconds from oldest) as "oldestTransactionSeconds", (select pid from oldest) as "oldestTransactionPid",
       (select facts from worst) as "worstTable", (select max(version) from schema_migrations) as "schemaVersion",
       case when pg_is_in_recovery() then 'standby' when current_setting('transaction_read_only')::boolean then 'setting' end as "readOnly"`,
    [],
  )
  return row!
}

/** The role of this connection. `notWritable`: tables of ours that it may not both insert into and update. */
export type RoleFacts = { role: string; owner: string; ownsTables: boolean; notWritable: string[] }

export async function readRole(db: Queryable): Promise<RoleFacts> {
  const [row] = await run<RoleFacts>(
    db,
    'read-role',
    `select current_user as role, pg_get_userbyid(o.relowner) as owner, pg_has_role(o.relowner, 'usage') as "ownsTables",
       array(select c.relname::text from pg_class c
         where c.relnamespace = o.relnamespace and c.relkind in ('r', 'p') and not c.relispartition
           and not (has_table_privilege(c.oid, 'insert') and has_table_privilege(c.oid, 'update')) order by 1) as "notWritable"
     from pg_class o where o.oid = 'email_outbox'::regclass`,
    [],
  )
  return row!
}

/** Whether e-mails went out by this provider in the last day, some time ago, and whether any event of it has come since. */
export type EventFlow = { sent: boolean; received: boolean }

const NEWEST = 2_000

export async function readEventFlow(db: Queryable, provider: 'ses' | 'resend'): Promise<EventFlow> {
  const [row] = await run<EventFlow>(
    db,
    'read-event-flow',
    `select exists (select from (select provider, sent_at from email_outbox order by outbox_id desc limit ${NEWEST}) o
         where split_part(provider, ':', 1) = $1 and sent_at between now() - interval '1 day' and now() - interval '10 minutes') as sent,
       exists (select from provider_events where provider = $1 and received_at > now() - interval '1 day') as received`,
    [provider],
  )
  return row!
}
