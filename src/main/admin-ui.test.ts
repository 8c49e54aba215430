import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeLog } from '../platform/telemetry/log.ts'
import { type App, baseApp } from '../web/server.ts'
import { adminUi, prefersHtml } from './admin-ui.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const SCRIPT = 'console.log(1)\n'.repeat(100)
let folder: string
let app: App

async function appWith(uiFolder: string): Promise<App> {
  const made = baseApp({ log: makeLog({ level: 'silent', pretty: false }), trustProxy: false })
  await made.register(async admin => {
    adminUi(admin, uiFolder)
    admin.get('/admin/companies', async () => ({ data: [] }))
    admin.get('/admin/export', { config: { clear: true } }, async (_, reply) => reply.type('text/csv').send('a,b'))
  })
  return made
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'admin-ui-'))
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), '<meta property="csp-nonce" nonce="STYLE_NONCE"><div id="root"></div>')
  writeFileSync(join(folder, 'assets/index-abc.js'), SCRIPT)
  writeFileSync(join(folder, 'secret.txt'), 'not an asset')
  app = await appWith(folder)
})
afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true })
})

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })

test.each([
  [BROWSER, true],
  ['text/html', true],
  ['text/html;q=0.9, application/json', false],
  ['application/json, text/html;q=0.9', false],
  ['application/json', false],
  ['*/*', false],
  ['text/html;q=0', false],
  ['text/html;q=x', false],
  ['application/json ; q=0.5 , TEXT/HTML ; q=0.9', true],
  ['', false],
])('Accept: "%s" prefers a page: %s', (accept, expected) => {
  expect(prefersHtml(accept)).toBe(expected)
})

test('an Accept header of very many spaces is read in no time', () => {
  const start = performance.now()
  for (const between of ['', ';', ',']) prefersHtml(`text/html${between}${' '.repeat(160_000)}x`)
  expect(performance.now() - start).toBeLessThan(2_000)
})

test.each(['/admin', '/admin/companies', '/admin/emails?status=SENT&anything=1', '/admin/no/such/view'])(
  'a browser that opens %s gets the page, which runs no inline script and asks no other host',
  async url => {
    const answer = await get(url, { accept: BROWSER })
    expect(answer.statusCode).toBe(200)
    expect(answer.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    expect(answer.headers.vary).toBe('Accept')
    const policy = String(answer.headers['content-security-policy'])
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[\w+/=]{24}'; /)
    expect(policy).toContain("frame-ancestors 'none'")
    // Style attributes are those of an e-mail in a preview; they run nothing.
    expect(policy.replace("style-src-attr 'unsafe-inline'", '')).not.toMatch(/unsafe|http|\*/)
    const nonce = /nonce-([^']+)'/.exec(policy)![1]
    expect(answer.body).toContain(`nonce="${nonce}"`)
  },
)

test('two answers have different nonces', async () => {
  const policies = await Promise.all([1, 2].map(async () => (await get('/admin', { accept: BROWSER })).headers))
  expect(policies[0]!['content-security-policy']).not.toBe(policies[1]!['content-security-policy'])
})

test('a program gets JSON from the same address, and a problem where there is no route', async () => {
  const answer = await get('/admin/companies', { accept: 'application/json' })
  expect([answer.json(), answer.headers.vary]).toEqual([{ data: [] }, 'Accept'])
  expect((await get('/admin/no/such/view')).json()).toMatchObject({ code: 'NOT_FOUND' })
})

test('a browser gets files from the routes that answer files', async () => {
  expect((await get('/admin/export', { accept: BROWSER })).body).toBe('a,b')
})

test('assets are compressed, and kept by browsers for ever', async () => {
  const answer = await get('/admin/assets/index-abc.js', { 'accept-encoding': 'gzip, br' })
  expect(answer.headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    'content-encoding': 'gzip',
  })
  expect(gunzipSync(answer.rawPayload).toString()).toBe(SCRIPT)
  expect((await get('/admin/assets/index-abc.js')).body).toBe(SCRIPT)
})

test('an asset that could not be read for a moment is read by the next request', async () => {
  const [path, away] = [join(folder, 'assets/later-abc.js'), join(folder, 'later.js')]
  writeFileSync(path, SCRIPT)
  const other = await appWith(folder)
  renameSync(path, away)
  expect((await other.inject('/admin/assets/later-abc.js')).statusCode).toBe(500)
  renameSync(away, path)
  expect((await other.inject('/admin/assets/later-abc.js')).body).toBe(SCRIPT)
  await other.close()
})

test.each(['nothing.js', '../secret.txt', '..%2Fsecret.txt', '%2e%2e/secret.txt', ''])(
  'no asset is answered for %s',
  async name => {
    expect((await get(`/admin/assets/${name}`)).statusCode).toBe(404)
  },
)

test('a UI that was not built says how to build it', async () => {
  const without = await appWith(join(folder, 'nothing'))
  const answer = await without.inject({ url: '/admin', headers: { accept: BROWSER } })
  await without.close()
  expect([answer.statusCode, answer.body]).toEqual([503, expect.stringContaining('Run "npm run build"')])
})
