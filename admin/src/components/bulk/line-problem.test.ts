import { expect, test } from 'vitest'
import { lineProblemOf } from './line-problem.ts'

test.each([
  ['The e-mail address has no @', 'address'],
  ['has a reason that is not HARD_BOUNCE, COMPLAINT or MANUAL', 'reason'],
  ['names a company that does not exist', 'company'],
  ['has a fault that is new', undefined],
])('the gateway says "%s"', (problem, kind) => expect(lineProblemOf(problem)).toBe(kind))
