import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { axeViolations, screenshot, scrollsSideways, startUi, type Ui } from './ui.ts'

let gateway: TestGateway
let ui: Ui

beforeAll(async () => {
  gateway = await startTestGateway()
  await gateway.company({ name: 'acme' })
  ui = await startUi(gateway)
})
afterEach(() => ui.closeViews())
afterAll(async () => {
  await ui?.stop()
  await gateway?.stop()
})

test.each([
  ['light', 'en', 1280],
  ['dark', 'pt', 1280],
  ['light', 'pt', 390],
  ['dark', 'en', 390],
] as const)(
  'the frame in %s, %s, %i px: nothing overflows, axe-core and the policy find nothing',
  async (...options) => {
    const [theme, language, width] = options
    const { page, requests, complaints } = await ui.openView('/companies', { theme, language, width })
    await page.getByRole('link', { name: 'acme' }).waitFor()
    await screenshot(page, `frame-${options.join('-')}`)
    expect.soft(await axeViolations(page)).toEqual([])
    expect.soft(await scrollsSideways(page)).toBe(false)
    expect.soft(requests.filter(url => !url.startsWith(gateway.url))).toEqual([])
    expect(complaints).toEqual([])
  },
)
