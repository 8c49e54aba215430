// Pictures of every view of the admin UI, taken from `email-gateway demo`:
//   npm run screenshots -- FOLDER [VIEW…]     every view: light and dark, English and Portuguese, 1280 and 390 px
//   npm run screenshots -- --readme           the few of the README, into docs/images/
//   VARIANTS=light-en-1280,dark-pt-390        only these
import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium } from 'playwright-core'

const ROOT = new URL('..', import.meta.url).pathname
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'
/** Until the simulated outage has begun and every status is there. */
const WARM_UP_SECONDS = Number(process.env.WARM_UP_SECONDS ?? 75)
const VARIANTS = process.env.VARIANTS?.split(',') ?? [
  ...['light-en-1280', 'light-en-390', 'light-pt-1280', 'light-pt-390'],
  ...['dark-en-1280', 'dark-en-390', 'dark-pt-1280', 'dark-pt-390'],
]
const README_VIEWS = ['overview', 'email']
const SIGN_IN = 'sign-in'

const [first, ...only] = process.argv.slice(2)
if (!first) throw new Error('Name a folder for the pictures, or --readme')
const forReadme = first === '--readme'
const folder = forReadme ? join(ROOT, 'docs/images') : first
mkdirSync(folder, { recursive: true })

const demo = spawn(process.execPath, [join(ROOT, 'bin/email-gateway.js'), 'demo'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const { url, password } = await signInOf(demo)
  console.log(`The demo runs at ${url}; waiting ${WARM_UP_SECONDS} s for data`)
  await sleep(WARM_UP_SECONDS * 1_000)
  await takePictures(url, password)
} finally {
  const ended = new Promise(resolve => demo.on('exit', resolve))
  demo.kill('SIGTERM')
  await ended
}

function signInOf(child) {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout.on('data', chunk => {
      text += chunk
      const found = /(http:\S+)\/admin {3}name: admin {3}password: (\S+)/.exec(text)
      if (found) resolve({ url: found[1], password: found[2] })
    })
    child.on('exit', code => reject(new Error(`The demo ended with ${code}`)))
  })
}

async function takePictures(url, password) {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })
  const views = await viewsOf(url, password)
  const names = Object.keys(views).filter(
    name => (forReadme ? README_VIEWS : only).includes(name) || (!forReadme && only.length === 0),
  )
  for (const variant of forReadme ? ['light-en-1280', 'dark-en-1280'] : VARIANTS)
    await takeVariant(browser, variant, names, views, { url, password })
  await browser.close()
}

async function takeVariant(browser, variant, names, views, { url, password }) {
  const [theme, language, width] = variant.split('-')
  const context = await browser.newContext({
    viewport: { width: Number(width), height: width === '390' ? 844 : 800 },
    colorScheme: theme,
    locale: language === 'pt' ? 'pt-BR' : 'en-US',
    timezoneId: 'America/Sao_Paulo',
    reducedMotion: 'reduce',
  })
  // First, because a signed-in administrator is led away from it.
  if (names.includes(SIGN_IN)) await take(SIGN_IN)
  await signIn(context, url, password)
  for (const name of names.filter(one => one !== SIGN_IN)) await take(name)
  await context.close()

  async function take(name) {
    const page = await context.newPage()
    page.on('console', message => message.type() === 'error' && console.log(`${name}: ${message.text()}`))
    await open(page, `${url}/admin${views[name]}`)
    const file = forReadme ? `${name}-${theme}.png` : `${name}-${variant}.png`
    await page.screenshot({ path: join(folder, file), fullPage: !forReadme })
    if (await page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth'))
      console.log(`${file}: wider than the window`)
    await page.close()
  }
}

async function signIn(context, url, password) {
  const answer = await context.request.post(`${url}/admin/session`, { data: { name: 'admin', password } })
  if (!answer.ok()) throw new Error(`Could not sign in: ${answer.status()}`)
}

async function open(page, address) {
  await page.goto(address)
  await page.locator('h1').first().waitFor()
  await page.waitForFunction(() => document.querySelector('.mantine-Skeleton-root') === null)
  // Charts and frames draw themselves after their data has come.
  await page.waitForTimeout(600)
}

/** The addresses of the views; those of one thing take what the demo has. */
async function viewsOf(url, password) {
  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`
  const ask = async path => (await fetch(url + path, { headers: { authorization, accept: 'application/json' } })).json()
  const firstOf = async (path, key) => (await ask(path)).data?.[0]?.[key]
  const company = (await ask('/admin/companies')).data.find(one => one.name === 'Loja Aurora').companyId
  const email = await firstOf('/admin/emails?status=BOUNCED&limit=1', 'outboxId')
  const withFile = (await ask('/admin/inbox?limit=200&content=false')).data.find(
    one => one.message.attachments.length > 0,
  )
  const tabs = ['activity', 'fairness', 'keys', 'webhooks', 'templates', 'domains', 'sql-access', 'audit']
  return {
    [SIGN_IN]: '/sign-in',
    overview: '/',
    emails: '/emails',
    ...(email && { email: `/emails/${email}` }),
    'dead-letters': '/dead-letters',
    suppression: '/suppression',
    companies: '/companies',
    ...Object.fromEntries(tabs.map(tab => [`company-${tab}`, `/companies/${company}/${tab}`])),
    templates: '/templates',
    template: `/templates/${(await ask(`/admin/templates?companyId=${company}`)).data.find(one => one.companyId !== null).id}`,
    webhooks: '/webhooks',
    webhook: `/webhooks/${await firstOf('/admin/webhooks?limit=1', 'id')}`,
    providers: '/providers',
    inbox: '/inbox',
    ...(withFile && {
      'inbox-message': `/inbox/${withFile.messageId}`,
      'inbox-source': `/inbox/${withFile.messageId}?tab=source`,
      'inbox-attachments': `/inbox/${withFile.messageId}?tab=attachments`,
      'inbox-headers': `/inbox/${withFile.messageId}?tab=headers`,
      'inbox-links': `/inbox/${withFile.messageId}?tab=links`,
    }),
    audit: '/audit',
    sessions: '/sessions',
    'not-found': '/nothing',
  }
}
