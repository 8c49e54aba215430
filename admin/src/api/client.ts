import createClient, { type Middleware } from 'openapi-fetch'
import { connection } from './connection.ts'
import { ApiProblem, problemOf } from './problem.ts'
import type { components, paths } from './schema.d.ts'

export type Schemas = components['schemas']

/** The gateway answers JSON to this header and the page to browsers; the second one keeps the browser's login dialog away. */
export const REQUEST_HEADERS = { accept: 'application/json', 'x-requested-with': 'email-gateway-admin' }

/** Every change is sent as application/json, also without a body: that is part of the CSRF protection. */
const asJson: Middleware = {
  onRequest({ request }) {
    if (request.method !== 'GET') request.headers.set('content-type', 'application/json')
    return request
  },
  onResponse({ response }) {
    connection.answered(response.status)
  },
  onError({ error }) {
    if (error instanceof DOMException && error.name === 'AbortError') return
    connection.lost()
    return new ApiProblem({ status: 0, code: 'OFFLINE', message: '' })
  },
}

/** Typed by the OpenAPI document: `api.GET('/admin/companies')`. */
export const api = createClient<paths>({ baseUrl: '/', headers: REQUEST_HEADERS })
api.use(asJson)

let onUnauthorized: () => void = () => {}
/** Called when an answer says that nobody is signed in. */
export function whenUnauthorized(listener: () => void): void {
  onUnauthorized = listener
}

type Answer<T> = { data?: T; error?: unknown; response: Response }

/** The data of an answer; a problem is thrown as an ApiProblem. */
export async function take<T>(asked: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await asked
  if (response.status === 401) onUnauthorized()
  if (!response.ok) throw problemOf(response.status, error, response.headers.get('retry-after'))
  return data as T
}
