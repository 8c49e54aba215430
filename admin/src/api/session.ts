import { type QueryClient, queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { read } from './client.ts'

const ROLES = ['viewer', 'support', 'administrator'] as const
export type Role = (typeof ROLES)[number]

export const sessionQuery = queryOptions({ ...read('/admin/session'), staleTime: 60_000 })

export const useSession = () => useSuspenseQuery(sessionQuery).data

/** Whether the administrator's role is at least this one. Buttons that change something ask it; the gateway checks again. */
export function useMay(role: Role): boolean {
  return ROLES.indexOf(useSession().role) >= ROLES.indexOf(role)
}

let onEnded: () => void = () => {}
/** The router sets it: go to the sign-in page and come back to this place. */
export function whenSessionEnds(listener: () => void): void {
  onEnded = listener
}
/** After a 401. Nobody was signed in on the first visit: there the route itself asks to. */
export function sessionEnded(client: QueryClient): void {
  if (client.getQueryData(sessionQuery.queryKey) === undefined) return
  client.removeQueries({ queryKey: sessionQuery.queryKey })
  onEnded()
}
