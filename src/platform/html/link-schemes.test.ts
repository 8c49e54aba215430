import { describe, expect, test } from 'vitest'
import { isLinkScheme, parseLinkScheme } from './urls.ts'

describe('a scheme that LINK_SCHEMES adds', () => {
  test.each([
    ['myapp', 'myapp'],
    [' MyApp:// ', 'myapp'],
    ['com.shop.app:', 'com.shop.app'],
    ['web+shop', 'web+shop'],
  ])('%s is read as %s', (text, scheme) => {
    expect(parseLinkScheme(text)).toBe(scheme)
  })

  test.each(['', 'c', 'my app', 'my_app', '1app', 'app:x', 'app/x', 'a'.repeat(41), 'müll'])('%s is none', text => {
    expect(parseLinkScheme(text)).toBeNull()
  })

  test.each([
    ...['javascript', 'JavaScript:', 'vbscript', 'data', 'file', 'blob', 'about', 'search', 'search-ms', 'shell'],
    ...['ms-settings', 'ms-word', 'microsoft-edge', 'intent', 'android-app', 'itms-services', 'smb', 'ssh', 'vscode'],
  ])('%s is refused', text => {
    expect(parseLinkScheme(text)).toBeNull()
  })
})

test('everybody may link to the web, to mail and phones, and to two messengers', () => {
  const nothing = new Set<string>()
  for (const scheme of 'https http mailto tel sms whatsapp tg cid'.split(' ')) {
    expect(isLinkScheme(scheme, nothing)).toBe(true)
  }
  for (const scheme of 'ftp myapp intent file data about'.split(' ')) expect(isLinkScheme(scheme, nothing)).toBe(false)
})
