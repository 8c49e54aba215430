import type pg from 'pg'
import { writeAudit } from '../audit/audit.ts'
import { inTransaction, type Queryable, sql } from '../platform/postgres/query.ts'
import { makeSessionToken, parseSessionToken, sessionSecretMatches } from './sessions.ts'

/** Long enough to find the link in a file, short enough that an old one is of no use. */
const LINK_MINUTES = 60

/** The token of a link that signs this administrator in once. `null`: there is no such administrator. */
export async function makeSignInLink(pool: pg.Pool, name: string, performedBy: string): Promise<string | null> {
  const { id, token, secretHash } = makeSessionToken()
  return inTransaction(pool, async tx => {
    const made = await sql(tx, 'put-sign-in-link')`
      with expired as (delete from admin_sign_in_links where expires_at < now())
       insert into admin_sign_in_links (link_id, secret_hash, administrator, expires_at)
       select ${id}, ${secretHash}, name, now() + make_interval(mins => ${LINK_MINUTES}) from administrators where name = ${name} returning link_id`
    if (made.length === 0) return null
    await writeAudit(tx, { performedBy, action: 'SIGN_IN_LINK_MADE', subjectType: 'administrator', subjectId: name })
    return token
  })
}

/** Whom it signs in; the link is used up. `null`: it was used, has expired, or never was one. */
export async function takeSignInLink(tx: Queryable, token: string): Promise<string | null> {
  const parsed = parseSessionToken(token)
  if (!parsed) return null
  const [link] = await sql<{ secretHash: Buffer; administrator: string }>(tx, 'lock-sign-in-link')`
    select secret_hash, administrator from admin_sign_in_links
     where link_id = ${parsed.id} and expires_at > now() for update`
  if (!link || !sessionSecretMatches(parsed.secret, link.secretHash)) return null
  await sql(tx, 'use-sign-in-link')`delete from admin_sign_in_links where link_id = ${parsed.id}`
  return link.administrator
}

/** The token follows the #, which browsers send to no server; the page exchanges it, so that a preview of the link does not. */
export const signInUrl = (gatewayUrl: string, token: string) =>
  `${gatewayUrl.replace(/\/$/, '')}/admin/sign-in#token=${token}`
