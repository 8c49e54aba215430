import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { hashPassword } from '../../src/contracts/password.ts'
import { putAdministrator } from '../../src/db/companies/administrators.ts'
import type { TestGateway } from '../support/gateway.ts'

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
export const ADMINISTRATOR = { name: 'admin', password: 'correct horse battery' }

export type Theme = 'light' | 'dark'
export type Language = 'en' | 'pt'
export type ViewOptions = { theme?: Theme; language?: Language; width?: 1280 | 390; signedIn?: boolean }

/** What a page asked for, and what the console and the content security policy complained about. */
export type View = { page: Page; requests: string[]; complaints: string[] }

export type Ui = {
  browser: Browser
  /** Opens a view as the administrator, and waits until its title and its data are there. */
  openView(path: string, options?: ViewOptions): Promise<View>
  closeViews(): Promise<void>
  stop(): Promise<void>
}

export async function launchChromium(): Promise<Browser> {
  if (!existsSync(CHROMIUM))
    throw new Error(
      `${CHROMIUM} is missing: npm test installs it as root; otherwise install chromium, or set CHROMIUM.`,
    )
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
      ...['--disable-sync', '--no-first-run', '--host-resolver-rules=MAP gateway.test 127.0.0.1'],
    ],
  })
}

export function watched(page: Page): View {
  const requests: string[] = []
  const complaints: string[] = []
  page.on('request', request => requests.push(request.url()))
  page.on('pageerror', error => complaints.push(error.message))
  // A breach of the content security policy is an error of the console, too.
  page.on('console', message => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  return { page, requests, complaints }
}

/** Another host, as far as a browser is concerned; it keeps what was asked of it. */
export async function startOutside() {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url!)
    response.setHeader('access-control-allow-origin', '*').end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const stop = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${port}`, asked, stop }
}

/** Chromium beside a gateway that has an administrator. */
export async function startUi(gateway: TestGateway): Promise<Ui> {
  await putAdministrator(gateway.db.pool, ADMINISTRATOR.name, await hashPassword(ADMINISTRATOR.password))
  const browser = await launchChromium()
  const cookies = await signIn(browser, gateway.url)
  const contexts: BrowserContext[] = []

  async function openView(path: string, options: ViewOptions = {}): Promise<View> {
    const { theme = 'light', language = 'en', width = 1280, signedIn = true } = options
    const context = await browser.newContext({
      viewport: { width, height: width === 390 ? 844 : 900 },
      colorScheme: theme,
      locale: language === 'pt' ? 'pt-BR' : 'en-US',
      timezoneId: 'America/Sao_Paulo',
      reducedMotion: 'reduce',
    })
    contexts.push(context)
    if (signedIn) await context.addCookies(cookies)
    const view = watched(await context.newPage())
    await view.page.goto(`${gateway.url}/admin${path}`)
    await ready(view.page)
    return view
  }

  return {
    browser,
    openView,
    async closeViews() {
      await Promise.all(contexts.splice(0).map(context => context.close()))
    },
    stop: () => browser.close(),
  }
}

/** The cookie of a session, which every view of this file shares. */
async function signIn(browser: Browser, url: string) {
  const context = await browser.newContext()
  const answer = await context.request.post(`${url}/admin/session`, {
    headers: { accept: 'application/json' },
    data: ADMINISTRATOR,
  })
  if (!answer.ok()) throw new Error(`Signing in answered ${answer.status()}: ${await answer.text()}`)
  const cookies = await context.cookies()
  await context.close()
  return cookies
}

/** The title is there, and no skeleton is left. */
export async function ready(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor()
  // Not waitForFunction with a text: the policy of the page refuses to evaluate it.
  await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' })
}

/** What axe-core finds wrong on the page as it is: rule, and the elements. Empty when nothing is. */
export async function axeViolations(page: Page): Promise<string[]> {
  // Evaluated through the debugger, which the policy of the page does not concern.
  await page.evaluate(AXE)
  return page.evaluate(async () => {
    const { violations } = await (
      globalThis as unknown as {
        axe: { run(): Promise<{ violations: { id: string; nodes: { target: string[]; html: string }[] }[] }> }
      }
    ).axe.run()
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(node => `${node.target.join(' ')} ${node.html.slice(0, 200)}`).join(', ')}`,
    )
  })
}

/** Nothing is wider than the window. */
export const scrollsSideways = (page: Page) =>
  page.evaluate<boolean>('document.documentElement.scrollWidth > document.documentElement.clientWidth')

/** Into the folder SHOTS, if it is set. */
export async function screenshot(page: Page, name: string, fullPage = true): Promise<void> {
  const folder = process.env.SHOTS
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage })
}
