import { describe, expect, test } from 'vitest'
import { guessContentType, mayBeInline } from './attachment-types.ts'

test.each([
  ['invoice.pdf', 'application/pdf'],
  ['FOTO.JPG', 'image/jpeg'],
  ['relatório.março.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['convite.ics', 'text/calendar'],
  ['nota.xml', 'application/xml'],
  ['README', 'application/octet-stream'],
  ['setup.exe', 'application/octet-stream'],
  ['pdf', 'application/octet-stream'],
  ['constructor.constructor', 'application/octet-stream'],
])('the type of %s is %s', (filename, type) => {
  expect(guessContentType(filename)).toBe(type)
})

describe('inside the message', () => {
  test.each([
    ['image/png', 'logo.png'],
    ['IMAGE/JPEG; name=x', 'photo'],
    ['video/mp4', 'clip.mp4'],
  ])('%s (%s) may be shown', (contentType, filename) => {
    expect(mayBeInline({ contentType, filename })).toBe(true)
  })

  test.each([
    ['text/html', 'page.png'],
    ['Text/HTML; charset=utf-8', 'a'],
    ['application/xhtml+xml', 'a'],
    ['message/rfc822', 'a.eml'],
    ['image/svg+xml', 'logo.svg'],
    ['image/SVG', 'logo'],
    ['image/png', 'logo.svg'],
    ['image/png', 'logo.HTML '],
    ['application/pdf', 'a.pdf'],
    ['application/octet-stream', 'a'],
  ])('%s (%s) is not', (contentType, filename) => {
    expect(mayBeInline({ contentType, filename })).toBe(false)
  })
})
