import { expect, test } from 'vitest'
import { csvLine } from './csv.ts'

test('commas, quotation marks and line breaks are quoted', () => {
  expect(csvLine(['a', 'b,c', 'say "no"', 'two\nlines', 5, null, undefined])).toBe(
    'a,"b,c","say ""no""","two\nlines",5,,\r\n',
  )
})

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\tx', '＝1'])('%j is text for a spreadsheet, not a formula', text => {
  expect(csvLine([text])).toBe(`'${text}\r\n`)
})

test('a formula behind a line break at its beginning is text, too', () => {
  expect(csvLine(['\r=1'])).toBe(`"'\r=1"\r\n`)
})
