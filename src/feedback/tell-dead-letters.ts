import type pg from 'pg'
import type { Logger } from 'pino'
import { takeCompaniesToTell } from '../db/metrics/dead-letter-notices.ts'
import { inTransaction } from '../db/query.ts'
import { putCompanyNotice } from '../db/webhooks/enqueue.ts'

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
