import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestGateway, type TestCompany, type TestGateway } from '../support/gateway.ts'
import { launchChromium, screenshot, type View, watched } from './ui.ts'

const HARD_TO_READ = readFileSync(join(import.meta.dirname, 'hard-to-read.js'), 'utf8')

let browser: Browser
let gateway: TestGateway
let company: TestCompany
let contexts: BrowserContext[]

beforeAll(async () => {
  gateway = await startTestGateway()
  company = await gateway.company()
  browser = await launchChromium()
})
afterAll(async () => {
  await browser?.close()
  await gateway?.stop()
})

beforeEach(() => {
  contexts = []
})
afterEach(() => Promise.all(contexts.map(context => context.close())))

async function open(options: Parameters<Browser['newContext']>[0] = {}): Promise<View> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  contexts.push(context)
  return watched(await context.newPage())
}

describe('/docs', () => {
  test('shows every operation, asks no other host, has nothing to complain about, and lets a newcomer try an e-mail out', async () => {
    const { page, requests, complaints } = await open()
    await page.goto(`${gateway.url}/docs`)
    await page.locator('.opblock').first().waitFor()
    const { paths, webhooks } = (await gateway.call(null, 'GET', '/openapi.json')).body
    const operations = [paths, webhooks].flatMap(items => Object.values(items as object).flatMap(Object.keys))
    expect(await page.locator('.opblock:visible').count()).toBe(operations.length)

    await page.getByText('Accept one e-mail').click()
    const opened = page.locator('.opblock.is-open')
    await opened.getByText('Request body').waitFor()
    await opened.getByText('"subject"').first().waitFor()
    expect.soft(await page.locator('.errors-wrapper').allInnerTexts()).toEqual([])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await screenshot(page, `docs-${colorScheme}`, false)
      // Swagger UI has faint buttons and badges of its own; what the gateway says must be readable.
      const hard = (await page.evaluate(HARD_TO_READ)) as string[]
      expect(hard.filter(text => /e-mail|\/v1\/|company|captur/i.test(text))).toEqual([])
    }

    await authorize(page)
    await opened.getByRole('button', { name: 'Try it out' }).click()
    await opened.locator('textarea').fill('{"to":"maria@example.com","subject":"Hello","text":"It works."}')
    await opened.getByRole('button', { name: 'Execute' }).click()
    await opened.locator('.live-responses-table').waitFor()
    expect(await opened.locator('.live-responses-table tbody .response-col_status').first().innerText()).toMatch(
      /^202\b/,
    )
    expect.soft(requests.filter(url => !url.startsWith(gateway.url) && !url.startsWith('data:'))).toEqual([])
    expect(complaints).toEqual([])
  })

  test('shows the operations also over plain HTTP under another name, as on an office network', async () => {
    const { page } = await open()
    await page.goto(`${gateway.url.replace('127.0.0.1', 'gateway.test')}/docs`)
    await page.getByText('Accept one e-mail').waitFor()
  })
})

async function authorize(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Authorize' }).first().click()
  const dialog = page.locator('.dialog-ux')
  await dialog.locator('input[type=text], input[type=password]').first().fill(company.apiKey)
  await dialog
    .getByRole('button', { name: /apply credentials|authorize/i })
    .first()
    .click()
  await dialog.getByRole('button', { name: 'Close', exact: true }).first().click()
}
