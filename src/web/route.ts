import type { Readable } from 'node:stream'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { z } from 'zod'
import type { AdministratorPrincipal, AdminRole, KeyPrincipal, Principal, Scope, ShellPrincipal } from './access.ts'
import { problemAnswers } from './openapi.ts'
import { Problem } from './problem.ts'
import type { App } from './server.ts'
import { parseInput } from './validation.ts'

/** Who may call a route: a company's key with this scope, an administrator of this role or a higher one, or everybody. */
export type Access = 'public' | KeyAccess | AdminAccess | (KeyAccess & AdminAccess)
type KeyAccess = { key: Scope }
type AdminAccess = { admin: AdminRole }

/** A route for keys and for administrators has a path for each; `:companyId` of the administrator's is the company that the handler sees. */
type ForEach<A extends Access, T> = A extends KeyAccess & AdminAccess ? { key: T; admin: T } : T

type ObjectSchema = z.ZodObject | undefined
type BodySchema = z.ZodType | undefined
/** A file, as OpenAPI describes it. */
type FileAnswer = { description: string; content: Record<string, { schema: z.ZodType }> }
/** One schema answers 200; otherwise the schemas by status. */
type Answers = z.ZodType | Record<number, z.ZodType | FileAnswer>

type Description<A extends Access, P extends ObjectSchema, Q extends ObjectSchema, B extends BodySchema, R> = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: ForEach<A, string>
  access: A
  summary: string | ForEach<A, string>
  description?: string
  /** Of the OpenAPI document; administrators' routes are under Admin. */
  tag?: string
  params?: P
  query?: Q
  body?: B
  response: R
  /** The type of a file or a page that is answered as it is; JSON without. */
  produces?: string
  /** Statuses of refusals that do not follow from the access and the schemas. */
  refusals?: number[]
  /** A file or a preview: it cannot be masked, so viewers do not get it. */
  clear?: true
  /** A body above the usual limit; `reserve` is a hook from `boundBodies`. */
  largeBody?: { bytes: number; reserve: onRequestAsyncHookHandler }
}

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined
type AnswerOf<R> = R extends z.ZodType ? z.output<R> : BodyOf<R[keyof R]>
type BodyOf<S> = S extends z.ZodType ? z.output<S> : S extends FileAnswer ? Readable | Buffer | string : never

type PrincipalOf<A extends Access> = A extends 'public'
  ? null
  :
      | ShellPrincipal
      | (A extends KeyAccess ? KeyPrincipal : never)
      | (A extends AdminAccess ? AdministratorPrincipal : never)

/** What a handler sees besides its input. `companyId`: of the key, or of the path of an administrator's request. */
export type Call<A extends Access> = {
  principal: PrincipalOf<A>
  requestId: string
  log: Pick<FastifyBaseLogger, 'info' | 'warn' | 'error'>
  status: (code: number) => void
  header: (name: string, value: string) => void
} & (A extends KeyAccess ? { companyId: string } : unknown)

type Given<P, Q, B> = (P extends z.ZodType ? { params: z.input<P> } : { params?: undefined }) &
  (Q extends z.ZodType ? { query: z.input<Q> } : { query?: undefined }) &
  (B extends z.ZodType ? { body: z.input<B> } : { body?: undefined })

type AnyInput = { params: unknown; query: unknown; body: unknown }
type AnyCall = Omit<Call<'public'>, 'principal'> & { principal: Principal | null; companyId: string | null }

export type Route<G = never, Answer = unknown> = {
  readonly description: Description<Access, ObjectSchema, ObjectSchema, BodySchema, Answers>
  readonly handle: (input: AnyInput, call: AnyCall) => Promise<Answer>
  /** For the types only. */
  readonly given?: (given: G) => void
}

/** A route as data: `register` serves it, `callRoute` calls it without a server. */
export function route<
  const A extends Access,
  R extends Answers,
  P extends ObjectSchema = undefined,
  Q extends ObjectSchema = undefined,
  B extends BodySchema = undefined,
>(
  description: Description<A, P, Q, B, R>,
  handler: (
    input: { params: Parsed<P>; query: Parsed<Q>; body: Parsed<B> },
    call: Call<A>,
  ) => AnswerOf<R> | Promise<AnswerOf<R>>,
): Route<Given<P, Q, B>, AnswerOf<R>> {
  // The only casts: the schemas of this description have parsed the input, and its guard has let the principal in.
  return {
    description: description as unknown as Route['description'],
    handle: async (input, call) => handler(input as never, call as unknown as Call<A>),
  }
}

/** What protects the routes of one part of the server. They set `request.principal`. */
export type Guard =
  | { kind: 'public' }
  | { kind: 'key'; requireKey: (scope: Scope) => onRequestAsyncHookHandler }
  | {
      kind: 'admin'
      authorize: onRequestAsyncHookHandler
      /** Throws a 404 if there is no such company. */
      findCompany: (companyId: string) => Promise<{ companyId: string }>
    }

/** Serves those of the routes that this guard lets in: a route for keys and administrators is registered with both. */
export function register(app: App, routes: Route[], guard: Guard): void {
  for (const { description, handle } of routes) {
    const { access, method, largeBody, clear } = description
    const hook = hookOf(access, guard)
    if (!hook) continue
    const schema = openApiOf(description, guard.kind)
    app.route({
      method,
      url: forGuard(description.path, guard.kind),
      onRequest: [...hook, ...(largeBody ? [largeBody.reserve] : [])],
      ...(largeBody && { bodyLimit: largeBody.bytes }),
      config: { ...(guard.kind === 'admin' && { role: adminRole(access)! }), ...(clear && { clear }) },
      schema,
      handler: async (request, reply) => {
        const companyId = await companyOf(request, description, guard)
        const { params, query, body } = request
        return reply.send(await handle({ params, query, body }, callOf(request, reply, companyId)))
      },
    })
  }
}

const keyScope = (access: Access) => (access !== 'public' && 'key' in access ? access.key : null)
const adminRole = (access: Access) => (access !== 'public' && 'admin' in access ? access.admin : null)

/** null: the guard does not let anybody in here. */
function hookOf(access: Access, guard: Guard): onRequestAsyncHookHandler[] | null {
  if (guard.kind === 'public') return access === 'public' ? [] : null
  if (guard.kind === 'admin') return adminRole(access) ? [guard.authorize] : null
  const scope = keyScope(access)
  return scope ? [guard.requireKey(scope)] : null
}

function forGuard(value: string | { key: string; admin: string }, kind: Guard['kind']): string {
  if (typeof value === 'string') return value
  return kind === 'admin' ? value.admin : value.key
}

const isForBoth = ({ path }: Route['description']) => typeof path !== 'string'

async function companyOf(request: FastifyRequest, description: Route['description'], guard: Guard) {
  if (request.principal?.kind === 'key') return request.principal.companyId
  if (guard.kind !== 'admin' || !isForBoth(description)) return null
  const { companyId } = request.params as { companyId: string }
  return (await guard.findCompany(companyId)).companyId
}

function callOf(request: FastifyRequest, reply: FastifyReply, companyId: string | null): AnyCall {
  return {
    principal: request.principal,
    companyId,
    requestId: request.id,
    log: request.log,
    status: code => void reply.code(code),
    header: (name, value) => void reply.header(name, value),
  }
}

const companyParams = z.object({ companyId: z.string().max(100) })

function openApiOf(description: Route['description'], kind: Guard['kind']) {
  const { summary, tag, query, body, response, produces } = description
  const isAdmin = kind === 'admin'
  const params =
    isAdmin && isForBoth(description) ? companyParams.extend(description.params?.shape ?? {}) : description.params
  return {
    summary: forGuard(summary, kind),
    ...(description.description !== undefined && { description: description.description }),
    ...(isAdmin ? { tags: ['Admin'], security: [{ administrator: [] }] } : tag !== undefined && { tags: [tag] }),
    ...(kind === 'public' && { security: [] }),
    ...(params && { params }),
    ...(query && { querystring: query }),
    ...(body && { body }),
    ...(produces !== undefined && { produces: [produces] }),
    response: {
      ...(response instanceof z.ZodType ? { 200: response } : response),
      ...problemAnswers(...refusalsOf(description, kind, params !== undefined)),
    },
  }
}

function refusalsOf(
  { access, method, query, body, refusals = [] }: Route['description'],
  kind: Guard['kind'],
  hasParams: boolean,
) {
  const isHarmless = method === 'GET' && adminRole(access) === 'viewer'
  return [
    ...(kind === 'key' ? [401, 403, 503] : []),
    ...(kind === 'admin' ? [401, 429, 503, ...(isHarmless ? [] : [403])] : []),
    ...(body ? [400, 413, 415] : []),
    ...(body || query || hasParams ? [422] : []),
    ...(hasParams ? [404] : []),
    ...refusals,
  ]
}

/**
 * The same schemas, access and handler without a server: for commands, which may call everything, and for doors. Not for administrators,
 * since viewers' answers are masked by the server. `companyId`: for a route of companies that the shell calls.
 */
export async function callRoute<G extends Partial<AnyInput>, Answer>(
  { description, handle }: Route<G, Answer>,
  principal: KeyPrincipal | ShellPrincipal,
  given: G & { companyId?: string },
  log: AnyCall['log'],
): Promise<Answer> {
  requireAccess(description.access, principal)
  const companyId = principal.kind === 'key' ? principal.companyId : (given.companyId ?? null)
  if (keyScope(description.access) && companyId === null) throw new Error('A route of companies needs a company')
  const { params, query, body } = description
  const input = {
    params: params && parseInput(params, 'params', given.params),
    query: query && parseInput(query, 'querystring', given.query),
    body: body && parseInput(body, 'body', given.body),
  }
  const requestId = crypto.randomUUID()
  return handle(input, { principal, companyId, requestId, log, status: () => {}, header: () => {} })
}

function requireAccess(access: Access, principal: KeyPrincipal | ShellPrincipal): void {
  if (access === 'public' || principal.kind === 'shell') return
  const scope = keyScope(access)
  if (!scope || !principal.scopes.includes(scope)) throw new Problem('INSUFFICIENT_SCOPE')
}
