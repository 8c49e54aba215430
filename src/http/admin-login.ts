import type { FastifyRequest } from 'fastify'
import { maskSensitive } from '../contracts/masking.ts'
import { DUMMY_PASSWORD_HASH, passwordMatches } from '../contracts/password.ts'
import { writeAudit } from '../db/audit.ts'
import { type AdministratorLogin, findAdministrator } from '../db/companies/administrators.ts'
import type { Queryable } from '../db/query.ts'
import { FairSlots } from '../runtime/fair-semaphore.ts'
import { LoginLimits, networkOf, siteOf } from '../runtime/login-limits.ts'
import { Problem } from './problem.ts'

/**
 * One scrypt check takes about 60 ms of a core and one of Node's four pool threads, so concurrent checks are limited, fairly between
 * sites. Networks with an earlier successful login have a slot of their own: guesses from elsewhere cannot delay them.
 */
const CHECKS = { total: 2, perKey: 1, waitingPerKey: 3 }
const CHECKS_FROM_KNOWN = { total: 1, perKey: 1, waitingPerKey: 3 }
const MAX_WAIT_MS = 5_000
const AUDIT_INTERVAL_MS = 60_000

type LoginRefusal = 'password' | 'throttled'
export type LoginOptions = { onLoginRefused: (reason: LoginRefusal) => void }
/** `null`: wrong name or password. Too many failures before: a Problem. */
export type LoginCheck = (request: FastifyRequest, name: string, password: string) => Promise<AdministratorLogin | null>

/** Checks passwords, for HTTP Basic and for the sign-in form alike: limited by name and network, logged and counted. */
export function passwordLogin(db: Queryable, { onLoginRefused }: LoginOptions): LoginCheck {
  const limits = new LoginLimits()
  let nextAuditMs = 0
  const checks = { known: new FairSlots(CHECKS_FROM_KNOWN), others: new FairSlots(CHECKS) }

  return async function checkPassword(request, name, password) {
    const network = networkOf(request.ip)
    refuseThrottled(name, network)
    const release = limits.hasSucceeded(network)
      ? await checks.known.acquire(network, 1, MAX_WAIT_MS)
      : await checks.others.acquire(siteOf(network), 1, MAX_WAIT_MS)
    if (!release) throw throttled(1)
    try {
      // Other logins from this network may have failed during the wait.
      refuseThrottled(name, network)
      const row = await findAdministrator(db, name)
      const matches = await passwordMatches(password, row?.passwordHash ?? DUMMY_PASSWORD_HASH)
      if (row && matches) {
        limits.succeeded(name, network)
        return row
      }
      const waits = limits.failed(name, network, performance.now())
      onLoginRefused('password')
      request.log.warn({ administrator: loggableName(name), address: request.ip }, 'Failed login of an administrator')
      if (waits) await auditRefused(name, network)
      return null
    } finally {
      release()
    }
  }

  /** An attacker with many networks must not fill the log: the first one of each minute is written. */
  async function auditRefused(name: string, network: string): Promise<void> {
    if (performance.now() < nextAuditMs) return
    nextAuditMs = performance.now() + AUDIT_INTERVAL_MS
    await writeAudit(db, {
      performedBy: `network ${network}`,
      action: 'SIGN_IN_REFUSED',
      subjectType: 'administrator',
      subjectId: loggableName(name),
      after: { network },
    })
  }

  function refuseThrottled(name: string, network: string): void {
    const waitMs = limits.waitMs(name, network, performance.now())
    if (waitMs > 0) throw throttled(Math.ceil(waitMs / 1000))
  }

  function throttled(seconds: number): Problem {
    onLoginRefused('throttled')
    return new Problem('TOO_MANY_LOGINS', { headers: { 'retry-after': String(seconds) } })
  }
}

/** The client chooses the name: it is logged shortened, printable, and without document numbers or addresses. */
const loggableName = (name: string) => maskSensitive(name.replaceAll(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, '?').slice(0, 64))
