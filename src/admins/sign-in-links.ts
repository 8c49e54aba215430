import type pg from 'pg'
import { writeAudit } from '../audit/audit.ts'
import { inTransaction, type Queryable, run } from '../platform/postgres/query.ts'
import { makeSessionToken, parseSessionToken, sessionSecretMatches } from './sessions.ts'

/** Long enough to find the link in a file, short enough that an old one is of no use. */
const LINK_MINUTES = 60

/** The token of a link that signs this administrator in once. `null`: there is no such administrator. */
export async function makeSignInLink(pool: pg.Pool, name: string, performedBy: string): Promise<string | null> {
  const { id, token, secretHash } = makeSessionToken()
  return inTransaction(pool, async tx => {
    const made = await run(
      tx,
      'put-sign-in-link',
      `with expired as (delete from admin_sign_in_links where expires_at < now())
       insert into admin_sign_in_links (link_id, secret_hash, administrator, expires_at)
       select $1, $2, name, now() + make_interval(mins => $4) from administrators where name = $3 returning link_id`,
      [id, secretHash, name, LINK_MINUTES],
    )
    if (made.length === 0) return null
    await writeAudit(tx, { performedBy, action: 'SIGN_IN_LINK_MADE', subjectType: 'administrator', subjectId: name })
    return token
  })
}

/** Whom it signs in; the link is used up. `null`: it was used, has expired, or never was one. */
export async function takeSignInLink(tx: Queryable, token: string): Promise<string | null> {
  const parsed = parseSessionToken(token)
  if (!parsed) return null
  const [link] = await run<{ secretHash: Buffer; administrator: string }>(
    tx,
    'lock-sign-in-link',
    `select secret_hash as "secretHash", administrator from admin_sign_in_links
     where link_id = $1 and expires_at > now() for update`,
    [parsed.id],
  )
  if (!link || !sessionSecretMatches(parsed.secret, link.secretHash)) return null
  await run(tx, 'use-sign-in-link', 'delete from admin_sign_in_links where link_id = $1', [parsed.id])
  return link.administrator
}

/** The token follows the #, which browsers send to no server; the page exchanges it, so that a preview of the link does not. */
export const signInUrl = (gatewayUrl: string, token: string) =>
  `${gatewayUrl.replace(/\/$/, '')}/admin/sign-in#token=${token}`
