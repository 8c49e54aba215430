import type { AdminRole } from '../../contracts/admin-role.ts'
import { iso, type Queryable, run } from '../query.ts'

/** More sessions of one administrator end the oldest ones. */
const MAX_SESSIONS = 50

export type NewSession = {
  sessionId: string
  secretHash: Buffer
  administrator: string
  days: number
  address: string
  userAgent: string
}

/** Also deletes sessions that have ended: they are made nowhere else. */
export async function putSession(tx: Queryable, session: NewSession): Promise<void> {
  await run(
    tx,
    'put-admin-session',
    `with ended as (
       delete from admin_sessions where expires_at < now() or session_id in (
         select session_id from admin_sessions where administrator = $3 order by signed_in_at desc offset ${MAX_SESSIONS - 1})
     )
     insert into admin_sessions (session_id, secret_hash, administrator, expires_at, address, user_agent)
     values ($1, $2, $3, now() + make_interval(days => $4), $5, $6)`,
    [session.sessionId, session.secretHash, session.administrator, session.days, session.address, session.userAgent],
  )
}

export type SessionRow = {
  sessionId: string
  secretHash: Buffer
  name: string
  role: AdminRole
  signedInAt: string
  expiresAt: string
  /** The time of the last request is more than a minute old. */
  unseen: boolean
}

/** `null`: there is no such session, or it has expired. */
export async function findSession(db: Queryable, sessionId: string, idleMinutes: number): Promise<SessionRow | null> {
  const [row] = await run<SessionRow>(
    db,
    'find-admin-session',
    `select s.session_id as "sessionId", s.secret_hash as "secretHash", a.name, a.role,
       ${iso('s.signed_in_at')} as "signedInAt", ${iso('s.expires_at')} as "expiresAt",
       s.last_seen_at < now() - interval '1 minute' as unseen
     from admin_sessions s join administrators a on a.name = s.administrator
     where s.session_id = $1 and s.expires_at > now() and s.last_seen_at > now() - make_interval(mins => $2)`,
    [sessionId, idleMinutes],
  )
  return row ?? null
}

export async function touchSession(db: Queryable, sessionId: string): Promise<void> {
  await run(
    db,
    'touch-admin-session',
    `update admin_sessions set last_seen_at = now()
     where session_id = $1 and last_seen_at < now() - interval '1 minute'`,
    [sessionId],
  )
}

export type ListedSession = {
  sessionId: string
  name: string
  role: AdminRole
  signedInAt: string
  lastSeenAt: string
  expiresAt: string
  address: string
  userAgent: string
}

/** Last seen first. `administrator` null: of everybody. */
export async function listSessions(
  db: Queryable,
  administrator: string | null,
  idleMinutes: number,
): Promise<ListedSession[]> {
  return run<ListedSession>(
    db,
    'list-admin-sessions',
    `select s.session_id as "sessionId", a.name, a.role, ${iso('s.signed_in_at')} as "signedInAt",
       ${iso('s.last_seen_at')} as "lastSeenAt", ${iso('s.expires_at')} as "expiresAt", s.address, s.user_agent as "userAgent"
     from admin_sessions s join administrators a on a.name = s.administrator
     where ($1::text is null or s.administrator = $1)
       and s.expires_at > now() and s.last_seen_at > now() - make_interval(mins => $2)
     order by s.last_seen_at desc, s.session_id limit 500`,
    [administrator, idleMinutes],
  )
}

/** Which sessions end: one, or all of an administrator. `owner` null: whoever's it is. */
export type EndedSessions = { sessionId: string | null; owner: string | null }

export async function endSessions(tx: Queryable, { sessionId, owner }: EndedSessions): Promise<EndedSession[]> {
  return run<EndedSession>(
    tx,
    'end-admin-sessions',
    `delete from admin_sessions
     where ($1::uuid is null or session_id = $1) and ($2::text is null or administrator = $2)
       and ($1::uuid is not null or $2::text is not null)
     returning session_id as "sessionId", administrator as name`,
    [sessionId, owner],
  )
}

export type EndedSession = { sessionId: string; name: string }
