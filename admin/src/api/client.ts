import { queryOptions } from '@tanstack/react-query'
import createClient, { type Middleware } from 'openapi-fetch'
import { connection } from './connection.ts'
import { ApiProblem, offline, problemOf } from './problem.ts'
import type { components, paths } from './schema.d.ts'

export type Schemas = components['schemas']

/** The gateway answers JSON to this header and the page to browsers; the second one keeps the browser's login dialog away. */
const REQUEST_HEADERS = { accept: 'application/json', 'x-requested-with': 'email-gateway-admin' }

/** A gateway that hangs keeps its connections: without a limit, a view would wait for ever. */
const READ_MS = 15_000
/** As long as the gateway itself may take: 30 s for the body of an import, 60 s for the statement. */
const CHANGE_MS = 90_000

let onTimeout: () => void = () => {}
/** Called when a request was not answered in time: one may be slow, or the gateway hangs. */
export function whenTimedOut(listener: () => void): void {
  onTimeout = listener
}

/** Every change is sent as application/json, also without a body: that is part of the CSRF protection. */
const jsonInTime: Middleware = {
  onRequest({ request }) {
    if (request.method !== 'GET') request.headers.set('content-type', 'application/json')
    const limit = AbortSignal.timeout(request.method === 'GET' ? READ_MS : CHANGE_MS)
    return new Request(request, { signal: AbortSignal.any([request.signal, limit]) })
  },
  onResponse({ response }) {
    connection.answered(response.status)
  },
  onError({ error }) {
    return outOfReach(error)
  },
}

/** Why there was no answer, or only a part of one; undefined when nobody waits for it any more. */
function outOfReach(error: unknown): ApiProblem | undefined {
  if (error instanceof ApiProblem) return error
  const name = error instanceof DOMException && error.name
  if (name === 'AbortError') return undefined
  if (name === 'TimeoutError') onTimeout()
  else connection.lost()
  return offline()
}

/** Typed by the OpenAPI document: `api.GET('/admin/companies')`. */
export const api = createClient<paths>({ baseUrl: '/', headers: REQUEST_HEADERS })
api.use(jsonInTime)

let onUnauthorized: () => void = () => {}
/** Called when an answer says that nobody is signed in. */
export function whenUnauthorized(listener: () => void): void {
  onUnauthorized = listener
}

export type Answer<T> = { data?: T; error?: unknown; response: Response }

/** The data of an answer; a problem is thrown as an ApiProblem. */
export async function take<T>(request: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await request.catch(reason => {
    throw outOfReach(reason) ?? reason
  })
  if (response.status === 401) onUnauthorized()
  if (!response.ok) throw problemOf(response.status, error, response.headers.get('retry-after'))
  return data as T
}

type GetPath = { [P in keyof paths]: paths[P] extends { get: unknown } ? P : never }[keyof paths]
type Get<P extends GetPath> = paths[P] extends { get: infer Operation } ? Operation : never
type ParametersOf<P extends GetPath> = Get<P> extends { parameters: infer Parameters } ? Parameters : never
/** What a GET route answers. */
export type Answers<P extends GetPath> =
  Get<P> extends { responses: { 200: { content: { 'application/json': infer Data } } } } ? Data : string

/** A GET route as a query. Its key is the path and the parameters, so that a change can name the routes that it changes. */
export const read = <P extends GetPath>(path: P, params: ParametersOf<P> = {} as ParametersOf<P>, as?: 'text') =>
  queryOptions({
    queryKey: [path, params] as const,
    queryFn: ({ signal }) =>
      take(api.GET(path, { params, signal, parseAs: as ?? 'json' } as never) as Promise<Answer<Answers<P>>>),
  })
