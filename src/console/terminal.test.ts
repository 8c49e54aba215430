import fc from 'fast-check'
import { expect, test } from 'vitest'
import { visibleJson, visibleLine, visibleText } from './output.ts'

const HOSTILE = 'a\u001b[2Jb\u009b31mc\u202ed\u0007e\u007ff'

test('a line keeps its letters and loses control characters', () => {
  expect(visibleLine(HOSTILE)).toBe('a[2Jb31mcdef')
  expect(visibleLine('one\r\ntwo\tthree')).toBe('one two three')
  expect(visibleLine('Padaria São João 👩‍💻 日本')).toBe('Padaria São João 👩‍💻 日本')
})

test('a text keeps its lines', () => {
  expect(visibleText(`${HOSTILE}\n\tat x`)).toBe('a[2Jb31mcdef\n\tat x')
})

test('JSON parses to the same value, and is printable', () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      const text = visibleJson(value)
      return (
        !/[\u0000-\u001f\u007f-\u009f\u202e]/.test(text) && JSON.stringify(JSON.parse(text)) === JSON.stringify(value)
      )
    }),
  )
  expect(JSON.parse(visibleJson({ [HOSTILE]: HOSTILE }))).toEqual({ [HOSTILE]: HOSTILE })
})
