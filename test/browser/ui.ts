import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import type { TestGateway } from '../support/gateway.ts'

/** The build without windows does the same with two thirds of the processor time. */
const CHROMIUMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']
const CHROMIUM = process.env.CHROMIUM ?? CHROMIUMS.find(existsSync)
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const EMPTY = 'about:blank'
export const ADMINISTRATOR = { name: 'admin', password: 'correct horse battery' }

type Theme = 'light' | 'dark'
type Language = 'en' | 'pt'
/** `browser`: views with the same name share cookies and storage. */
type ViewOptions = {
  theme?: Theme
  language?: Language
  width?: 1280 | 390
  signedIn?: boolean
  browser?: string
}

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
  if (!CHROMIUM || !existsSync(CHROMIUM))
    throw new Error(
      `${CHROMIUM ?? CHROMIUMS.join(' or ')} is missing: npm test installs it as root; otherwise install chromium, or set CHROMIUM.`,
    )
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
      // One process for all pages of a file: a tenth less processor time.
      '--renderer-process-limit=1',
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
export async function startUi(gateway: Pick<TestGateway, 'url' | 'db'>): Promise<Ui> {
  await putAdministrator(gateway.db.pool, ADMINISTRATOR.name, await hashPassword(ADMINISTRATOR.password))
  const browser = await launchChromium()
  const cookies = await signIn(browser, gateway.url)
  // A context keeps the scripts of the UI in its cache, so views of the same kind share one.
  const contexts = new Map<string, BrowserContext>()

  async function openView(path: string, options: ViewOptions = {}): Promise<View> {
    const { theme = 'light', language = 'en', width = 1280, signedIn = true, browser: name = 'one' } = options
    const kind = [theme, language, width, signedIn, name].join()
    const context = contexts.get(kind) ?? (await browser.newContext(contextOptions(theme, language, width)))
    contexts.set(kind, context)
    await context.clearCookies()
    if (signedIn) await context.addCookies(cookies)
    const view = watched(await takePage(context))
    await view.page.setViewportSize(sizeOf(width))
    await view.page.emulateMedia({ colorScheme: theme })
    await view.page.goto(`${gateway.url}/admin${path}`)
    await ready(view.page).catch(error => {
      throw new Error(`${path} did not open: ${view.complaints.join('; ') || 'nothing in the console'}`, {
        cause: error,
      })
    })
    return view
  }

  return {
    browser,
    openView,
    async closeViews() {
      await Promise.all([...contexts.values()].map(closeAllButOne))
    },
    stop: () => browser.close(),
  }
}

/** A page that is already there opens a view with two thirds of the processor time of a new one. */
async function takePage(context: BrowserContext): Promise<Page> {
  return context.pages().find(page => page.url() === EMPTY) ?? (await context.newPage())
}

/** The page that is left remembers nothing: what a tab stores is gone, as in a new one. */
async function closeAllButOne(context: BrowserContext): Promise<void> {
  const [kept, ...others] = context.pages()
  await Promise.all(others.map(page => page.close()))
  if (!kept || kept.url() === EMPTY) return
  for (const event of ['request', 'pageerror', 'console', 'dialog'] as const) kept.removeAllListeners(event)
  await kept.evaluate('sessionStorage.clear()')
  // A page with unsaved changes refuses to be left, and can only be closed.
  await kept.goto(EMPTY).catch(() => kept.close())
}

const contextOptions = (theme: Theme, language: Language, width: number) =>
  ({
    viewport: sizeOf(width),
    colorScheme: theme,
    locale: language === 'pt' ? 'pt-BR' : 'en-US',
    timezoneId: 'America/Sao_Paulo',
    reducedMotion: 'reduce',
  }) as const

const sizeOf = (width: number) => ({ width, height: width === 390 ? 844 : 900 })

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

/**
 * A view on a large screen in its theme, and on a phone in the other theme: nothing to scroll sideways to, nothing for axe-core, the
 * policy and the console to complain about.
 */
export async function expectSound({ page, complaints }: View, name: string): Promise<void> {
  await screenshot(page, name)
  expect.soft(await axeViolations(page), name).toEqual([])
  expect.soft(await scrollsSideways(page), name).toBe(false)
  const { width } = page.viewportSize()!
  await page.setViewportSize(sizeOf(390))
  await changeTheme(page, 'dark')
  await screenshot(page, `${name}-phone`)
  expect.soft(await axeViolations(page, ['color-contrast']), `${name}, dark`).toEqual([])
  expect.soft(await scrollsSideways(page), `${name}, 390 px`).toBe(false)
  await page.setViewportSize(sizeOf(width))
  await changeTheme(page, 'light')
  expect(complaints, name).toEqual([])
}

/** The page hears of the system's new theme a moment later, and its colours begin to fade only then. */
async function changeTheme(page: Page, theme: Theme): Promise<void> {
  await page.emulateMedia({ colorScheme: theme })
  await page.locator(`html[data-mantine-color-scheme=${theme}]`).waitFor()
}

/** Colours fade from one theme to the other; what turns for ever is not waited for. */
const TRANSITIONS_ENDED = `Promise.allSettled(document.getAnimations()
  .filter(one => one.effect.getComputedTiming().endTime !== Infinity).map(one => one.finished)).then(() => undefined)`

type Axe = {
  run(options: object): Promise<{ violations: { id: string; nodes: { target: string[]; html: string }[] }[] }>
}

/** What axe-core finds wrong on the page as it is: rule, and the elements. Empty when nothing is. */
export async function axeViolations(page: Page, rules: string[] | null = null): Promise<string[]> {
  await page.evaluate(TRANSITIONS_ENDED)
  // Evaluated through the debugger, which the policy of the page does not concern.
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(AXE)
  return page.evaluate(async only => {
    // It is not in the sandboxed frames of previews, so it has nobody there to ask.
    const options = {
      resultTypes: ['violations'],
      iframes: false,
      ...(only && { runOnly: { type: 'rule', values: only } }),
    }
    const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run(options)
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(node => `${node.target.join(' ')} ${node.html.slice(0, 200)}`).join(', ')}`,
    )
  }, rules)
}

/** Nothing is wider than the window, and no table than its frame. */
export const scrollsSideways = (page: Page) =>
  page.evaluate<boolean>(`document.documentElement.scrollWidth > document.documentElement.clientWidth ||
    [...document.querySelectorAll('table')].some(table => table.offsetWidth > table.parentElement.clientWidth + 1 &&
      getComputedStyle(table.parentElement).overflowX === 'visible')`)

/** Into the folder SHOTS, if it is set. */
export async function screenshot(page: Page, name: string, fullPage = true): Promise<void> {
  const folder = process.env.SHOTS
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage })
}
