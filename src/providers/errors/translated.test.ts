import { expect, test } from 'vitest'
import { failures } from '../../../admin/src/i18n/pt/failures.ts'
import { GATEWAY_ERRORS } from './contract.ts'

test('the admin UI says every code that the gateway gives a failed e-mail in Portuguese, too', () => {
  expect(Object.keys(failures)).toEqual(expect.arrayContaining(Object.keys(GATEWAY_ERRORS)))
})
