import type { onRequestAsyncHookHandler } from 'fastify'
import type { Database } from '../platform/postgres/pool.ts'

/** What every file with admin routes needs. `onRequest` asks for a login (admins/authorize.ts). */
export type AdminRouteDeps = {
  db: Database
  onRequest: onRequestAsyncHookHandler
}

/** In order: each may do what the ones before it may. */
export const ADMIN_ROLES = ['viewer', 'support', 'administrator'] as const

export type AdminRole = (typeof ADMIN_ROLES)[number]

export const isAdminRole = (text: string): text is AdminRole => (ADMIN_ROLES as readonly string[]).includes(text)

export function roleSuffices(role: AdminRole, needed: AdminRole): boolean {
  return ADMIN_ROLES.indexOf(role) >= ADMIN_ROLES.indexOf(needed)
}

/** What a route says about itself. `clear`: its answer cannot be masked, so viewers do not get it. */
export type RouteNeeds = { role?: AdminRole | undefined; clear?: boolean | undefined }

/** Everybody may read what can be masked; changes need support, unless the route says otherwise. */
export function neededRole(method: string, { role, clear }: RouteNeeds): AdminRole {
  const byMethod = method === 'GET' || method === 'HEAD' ? 'viewer' : 'support'
  const needed = role ?? byMethod
  return clear && needed === 'viewer' ? 'support' : needed
}

/** What an API key may do. */
export const SCOPES = ['send', 'read', 'manage'] as const

export type Scope = (typeof SCOPES)[number]

export type KeyPrincipal = {
  kind: 'key'
  companyId: string
  /** The company's. */
  name: string
  keyId: string
  test: boolean
  scopes: readonly Scope[]
}
export type AdministratorPrincipal = { kind: 'administrator'; name: string; role: AdminRole }
/** A command. `name` as in `cli:ana`. */
export type ShellPrincipal = { kind: 'shell'; name: string }
/** Who calls a route. */
export type Principal = KeyPrincipal | AdministratorPrincipal | ShellPrincipal

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the guard of the route; null on a public one. */
    principal: Principal | null
  }
}

/** For the audit log. */
export function performedBy(principal: Principal): string {
  return principal.kind === 'key' ? `key ${principal.keyId}` : principal.name
}

export const isTestKey = (principal: Principal) => principal.kind === 'key' && principal.test

/** For the OpenAPI document. */
export const neededScopes = new WeakMap<object, Scope>()

/** The scope that a route's `onRequest` hooks ask for, if one of them asks for a key. */
export function scopeOf(hooks: unknown): Scope | undefined {
  return [hooks].flat().flatMap(hook => (hook ? (neededScopes.get(hook) ?? []) : []))[0]
}
