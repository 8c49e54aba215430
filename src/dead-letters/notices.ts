import type pg from 'pg'
import type { Logger } from 'pino'
import { inTransaction, literal, type Queryable, sql } from '../platform/postgres/query.ts'
import { putCompanyNotice } from '../webhooks/enqueue.ts'

/** A company with more dead letters in an hour is told, once an hour. */
const MANY_DEAD_LETTERS = 50

/** Puts the webhook `company.dead_letters` for each company that is to be told. Returns how many were. */
export async function tellOfDeadLetters(pool: pg.Pool, log: Logger): Promise<number> {
  return inTransaction(pool, async tx => {
    const companies = await takeCompaniesToTell(tx, MANY_DEAD_LETTERS)
    for (const { companyId, deadLetters, codes } of companies) {
      const data = { companyId, deadLetters, windowSeconds: 3_600, codes }
      await putCompanyNotice(tx, { companyId, type: 'company.dead_letters', data })
      log.warn({ companyId, deadLetters, codes }, 'A company has many dead letters')
    }
    return companies.length
  })
}

export type ManyDeadLetters = {
  companyId: string
  deadLetters: number
  /** The most frequent error codes. */
  codes: { code: string; deadLetters: number }[]
}

const MOST_CODES = 5

/**
 * Companies with more than `threshold` live dead letters in the last hour that were not told in the last hour. They count as told
 * from here on, so that of several processes one tells them.
 */
export async function takeCompaniesToTell(tx: Queryable, threshold: number): Promise<ManyDeadLetters[]> {
  return sql<ManyDeadLetters>(tx, 'take-companies-to-tell')`
    with codes as materialized (
       select d.company_id, coalesce(d.last_failure_code, 'OTHER') as code, count(*) as entries
       from dead_letters d join email_outbox o on o.outbox_id = d.outbox_id and not o.test
       where d.moved_at > now() - interval '1 hour' group by 1, 2
     ), many as materialized (
       select company_id, sum(entries) as entries from codes group by 1 having sum(entries) > ${threshold}
     ), told as (
       insert into dead_letter_notices as n (company_id) select company_id from many order by company_id
       on conflict (company_id) do update set told_at = now() where n.told_at <= now() - interval '1 hour'
       returning company_id
     )
     select company_id as "companyId", entries::float8 as "deadLetters",
       (select json_agg(json_build_object('code', c.code, 'deadLetters', c.entries) order by c.entries desc, c.code)
        from (select * from codes c where c.company_id = many.company_id order by entries desc, code limit ${literal(MOST_CODES)}) c) as codes
     from many join told using (company_id) order by company_id`
}
