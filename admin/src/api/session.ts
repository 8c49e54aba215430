import { type QueryClient, queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { REQUEST_HEADERS } from './client.ts'
import { connection } from './connection.ts'
import { ApiProblem, isProblem, problemOf } from './problem.ts'

export const ROLES = ['viewer', 'support', 'administrator'] as const
export type Role = (typeof ROLES)[number]
export type Session = { name: string; role: Role; signedInAt: string; expiresAt: string }

const PATH = '/admin/session'

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: readSession,
  staleTime: 60_000,
})

/** A gateway without sessions asks for the password itself (HTTP Basic). */
async function readSession(): Promise<Session> {
  try {
    return (await call('GET')) as Session
  } catch (error) {
    if (!isProblem(error, 'NOT_FOUND')) throw error
    return { name: 'admin', role: 'administrator', signedInAt: '', expiresAt: '' }
  }
}

export const signIn = (credentials: { name: string; password: string }) => call('POST', credentials)
export const signOut = () => call('DELETE')

async function call(method: string, body?: unknown): Promise<unknown> {
  const response = await fetch(PATH, {
    method,
    headers: { ...REQUEST_HEADERS, ...(method !== 'GET' && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch(() => {
    connection.lost()
    throw new ApiProblem({ status: 0, code: 'OFFLINE', message: '' })
  })
  connection.answered(response.status)
  const answer = await response.json().catch(() => null)
  if (!response.ok) throw problemOf(response.status, answer)
  return answer
}

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
export function sessionEnded(client: QueryClient): void {
  client.removeQueries({ queryKey: sessionQuery.queryKey })
  onEnded()
}
