import { describe, expect, test } from 'vitest'
import { UsageError } from '../../console/command.ts'
import { variablesOf } from './command.ts'

describe('--variable', () => {
  test('builds nested variables; a value may hold anything', () => {
    expect(variablesOf(['user.name=Ana = <b>\n', 'user.plan=', 'code=1'])).toEqual({
      user: { name: 'Ana = <b>\n', plan: '' },
      code: '1',
    })
  })

  test.each([[['x']], [['=x']], [['a..b=x']], [['a=1', 'a=2']], [['a=1', 'a.b=2']], [['a.b=1', 'a=2']]])(
    '%j is refused',
    given => {
      expect(() => variablesOf(given)).toThrow(UsageError)
    },
  )

  test('does not reach what every object has', () => {
    const variables = variablesOf(['__proto__.polluted=1', 'constructor.x=2'])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect(Object.getPrototypeOf(variables)).toBeNull()
  })
})
