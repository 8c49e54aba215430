import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { batchError, type FieldProblem, fieldPath, RECIPIENT_SUPPRESSED_MESSAGE, summarise } from './refusal.ts'

describe('the path of a field', () => {
  test.each([
    [['to'], 'to'],
    [['cc', 0], 'cc[0]'],
    [['attachments', 2, 'filename'], 'attachments[2].filename'],
    [['recipient', 'cpfCnpj'], 'recipient.cpfCnpj'],
    [['headers', 'X-Order'], 'headers.X-Order'],
    [[3, 'to'], '[3].to'],
    [[], ''],
  ])('%j is written %s', (path, written) => {
    expect(fieldPath(path)).toBe(written)
  })
})

describe('the code of the answer', () => {
  const problem = (code: string): FieldProblem => ({ path: 'x', code, message: 'is wrong' })

  test.each([
    ['addresses only', ['INVALID_EMAIL', 'INVALID_EMAIL'], 'INVALID_EMAIL'],
    ['content only', ['INVALID_TEMPLATE'], 'INVALID_TEMPLATE'],
    ['both', ['INVALID_EMAIL', 'INVALID_TEMPLATE'], 'INVALID_PAYLOAD'],
    ['an address and something else', ['INVALID_EMAIL', 'TOO_LARGE'], 'INVALID_PAYLOAD'],
    ['something else', ['TOO_LARGE'], 'INVALID_PAYLOAD'],
  ])('%s', (_, codes, code) => {
    const errors = codes.map(problem)
    expect(summarise(errors)).toEqual({ code, errors })
  })

  test('is specific only when every field agrees', () => {
    const codes = fc.array(fc.constantFrom('INVALID_EMAIL', 'INVALID_TEMPLATE', 'TOO_LARGE'), { minLength: 1 })
    fc.assert(
      fc.property(codes, drawn => {
        const { code } = summarise(drawn.map(problem))
        const agreed = new Set(drawn).size === 1 && drawn[0] !== 'TOO_LARGE'
        expect(code).toBe(agreed ? drawn[0] : 'INVALID_PAYLOAD')
      }),
    )
  })
})

describe('a member of a permissive batch', () => {
  test('names every field that is wrong', () => {
    const errors = [
      { path: 'to', code: 'INVALID_EMAIL', message: 'has no @' },
      { path: 'subject', code: 'TOO_LARGE', message: 'is too long' },
    ]
    expect(batchError(4, summarise(errors))).toEqual({
      index: 4,
      code: 'INVALID_PAYLOAD',
      message: 'to: has no @; subject: is too long',
    })
  })

  test('that is suppressed has the message, but not the address', () => {
    const error = batchError(0, { code: 'RECIPIENT_SUPPRESSED', recipient: 'sha256:0' })
    expect(error).toEqual({ index: 0, code: 'RECIPIENT_SUPPRESSED', message: RECIPIENT_SUPPRESSED_MESSAGE })
  })
})
