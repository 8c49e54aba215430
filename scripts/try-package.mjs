// Packs the program, installs the package as its users do (an empty folder, an empty npm cache) and sends an e-mail with it.
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const START_MS = 120_000
const SEND_MS = 30_000
const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const folder = mkdtempSync(join(tmpdir(), 'email-gateway-package-'))
const app = join(folder, 'app')
mkdirSync(app)

const npm = (args, cwd) => execFileSync('npm', args, { cwd, stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' })
const npx = args => npm(['exec', '--no', '--', 'email-gateway', ...args], app)

try {
  npm(['pack', '--silent', '--pack-destination', folder], process.cwd())
  const tarball = readdirSync(folder).find(name => name.endsWith('.tgz'))
  npm(['install', '--no-audit', '--no-fund', '--cache', join(folder, 'cache'), join(folder, tarball)], app)
  expect(npx(['--version']).trim() === version, `npx email-gateway --version prints ${version}`)
  expect(npx(['help', 'start']).includes('--role'), 'npx email-gateway help start prints its options')
  await tryGateway()
  console.log(`${tarball} was packed, installed and tried.`)
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

async function tryGateway() {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: join(folder, 'data'), PORT: '0' }
  // A group of its own: npm does not pass a signal on to the program that it runs.
  const gateway = spawn('npm', ['exec', '--no', '--', 'email-gateway', 'start'], { cwd: app, env, detached: true })
  let output = ''
  for (const stream of [gateway.stdout, gateway.stderr]) stream.on('data', chunk => (output += chunk))
  const ended = new Promise(resolve => gateway.on('close', resolve))
  try {
    const url = await until(START_MS, () => /API at (http:[^\s,]+)/.exec(output)?.[1])
    await tryApi(url, readFileSync(join(folder, 'data/first-start.txt'), 'utf8'))
  } catch (error) {
    throw new Error(`${error.message}\n${output}`, { cause: error })
  } finally {
    process.kill(-gateway.pid, 'SIGTERM')
    await ended
  }
  expect(output.includes('"Stopped"'), 'the gateway stops when it is told to')
}

async function tryApi(url, firstStart) {
  const headers = { 'x-api-key': /sk_live_\w+/.exec(firstStart)[0], 'content-type': 'application/json' }
  const admin = { authorization: `Basic ${btoa(`admin:${/Password +(\S+)/.exec(firstStart)[1]}`)}` }
  const body = JSON.stringify({ to: 'maria@example.com', subject: 'Hello', html: '<p>It works.</p>' })
  const answer = await fetch(`${url}/v1/email/send`, { method: 'POST', headers, body })
  expect(answer.status === 202, 'an e-mail is accepted')
  await until(SEND_MS, async () =>
    (await (await fetch(`${url}/admin/inbox`, { headers: admin })).text()).includes('Hello'),
  )
  console.log('ok  the e-mail is in the inbox')
  const page = await (await fetch(`${url}/admin`, { headers: { accept: 'text/html' } })).text()
  const [script] = /\/admin\/[^"]+\.js/.exec(page) ?? []
  expect(script && (await fetch(url + script)).ok, 'the admin UI is served')
  const { info } = await (await fetch(`${url}/openapi.json`)).json()
  expect(info.version === version, 'the OpenAPI document names the version')
}

async function until(patienceMs, look) {
  const deadline = Date.now() + patienceMs
  while (Date.now() < deadline) {
    const found = await look()
    if (found) return found
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  throw new Error(`Not within ${patienceMs / 1000} s: ${look}`)
}

function expect(isSo, sentence) {
  if (!isSo) throw new Error(`It is not so that ${sentence}.`)
  console.log(`ok  ${sentence}`)
}
