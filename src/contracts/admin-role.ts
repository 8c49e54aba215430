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
