import { expect, test } from 'vitest'
import { z } from 'zod'
import { makeLog } from '../platform/telemetry/log.ts'
import { type AdministratorPrincipal, type KeyPrincipal, type Principal, performedBy } from './access.ts'
import { Problem } from './problem.ts'
import { callRoute, type Guard, register, route } from './route.ts'
import { baseApp } from './server.ts'

const LOJA = '01890000-0000-7000-8000-000000000001'
const key: KeyPrincipal = { kind: 'key', companyId: LOJA, name: 'loja', keyId: 'k1', test: false, scopes: ['manage'] }
const ana: AdministratorPrincipal = { kind: 'administrator', name: 'ana', role: 'support' }
const shell = { kind: 'shell', name: 'cli:ana' } as const
const log = makeLog({ level: 'silent', pretty: false })

const rename = route(
  {
    method: 'POST',
    path: { key: '/v1/things/:thingId', admin: '/admin/companies/:companyId/things/:thingId' },
    access: { key: 'manage', admin: 'support' },
    tag: 'Things',
    summary: 'Rename a thing of a company',
    params: z.object({ thingId: z.string() }),
    body: z.strictObject({ name: z.string().trim().min(1) }),
    response: { 200: z.object({ by: z.string() }), 201: z.object({ by: z.string() }) },
    refusals: [409],
  },
  ({ params, body }, { companyId, principal, status, header }) => {
    status(201)
    header('x-thing', params.thingId)
    return { by: `${performedBy(principal)} of ${companyId}: ${body.name}` }
  },
)
const version = route(
  { method: 'GET', path: '/version', access: 'public', summary: 'Which', response: z.object({ version: z.string() }) },
  () => ({ version: '1' }),
)

const signedInAs = (principal: Principal) => async (request: { principal: Principal | null }) => {
  request.principal = principal
}
const GUARDS: Guard[] = [
  { kind: 'public' },
  { kind: 'key', requireKey: () => signedInAs(key) },
  {
    kind: 'admin',
    authorize: signedInAs(ana),
    async findCompany(companyId) {
      if (companyId !== LOJA) throw new Problem('NOT_FOUND', { detail: 'There is no such company.' })
      return { companyId }
    },
  },
]

async function exampleApp() {
  const app = baseApp({ log, trustProxy: false })
  const schemas = new Map<string, object>()
  app.addHook('onRoute', ({ url, schema }) => void schemas.set(url, schema ?? {}))
  for (const guard of GUARDS) register(app, [rename, version], guard)
  const post = (url: string, body: object = { name: ' new ' }) => app.inject({ method: 'POST', url, payload: body })
  return { app, schemas, post }
}

test('a route for keys and administrators is one handler that sees the company of either', async () => {
  const { post } = await exampleApp()
  const byKey = await post('/v1/things/t1')
  expect([byKey.statusCode, byKey.headers['x-thing'], byKey.json()]).toEqual([
    201,
    't1',
    { by: `key k1 of ${LOJA}: new` },
  ])
  const byAdmin = await post(`/admin/companies/${LOJA}/things/t1`)
  expect([byAdmin.statusCode, byAdmin.json()]).toEqual([201, { by: `ana of ${LOJA}: new` }])
})

test("an administrator's request for a company that there is not is a 404, and a wrong body a 422", async () => {
  const { post } = await exampleApp()
  expect((await post('/admin/companies/nobody/things/t1')).json()).toMatchObject({ code: 'NOT_FOUND' })
  expect((await post('/v1/things/t1', {})).json()).toMatchObject({
    code: 'INVALID_PAYLOAD',
    errors: [{ path: 'name' }],
  })
})

test('each guard serves only what it lets in, and the refusals follow from access and schemas', async () => {
  const { app, schemas } = await exampleApp()
  expect((await app.inject('/version')).json()).toEqual({ version: '1' })
  const refusals = (url: string) =>
    Object.keys((schemas.get(url) as { response: object }).response).filter(status => status >= '400')
  expect([...schemas.keys()].sort()).toEqual([
    '/admin/companies/:companyId/things/:thingId',
    '/v1/things/:thingId',
    '/version',
  ])
  expect(refusals('/version')).toEqual([])
  expect(refusals('/v1/things/:thingId')).toEqual(['400', '401', '403', '404', '409', '413', '415', '422', '503'])
  expect(refusals('/admin/companies/:companyId/things/:thingId')).toContain('429')
})

test('a command calls the same route without a server: same schema, same access', async () => {
  const given = { params: { thingId: 't1' }, body: { name: ' new ' }, companyId: LOJA }
  expect(await callRoute(rename, shell, given, log)).toEqual({ by: `cli:ana of ${LOJA}: new` })
  const wrong = callRoute(rename, shell, { ...given, body: { name: '' } }, log)
  await expect(wrong).rejects.toMatchObject({ code: 'INVALID_PAYLOAD' })
  const reader = callRoute(rename, { ...key, scopes: ['read'] }, given, log)
  await expect(reader).rejects.toMatchObject({ code: 'INSUFFICIENT_SCOPE' })
})
