import { expect, test } from 'vitest'
import { sendBodySchema } from '../../outbox/send-body.ts'
import { renderBody } from './accept.ts'
import { refusalText } from './send-one.ts'

test('a template that is not found names the command that lists them', () => {
  const body = sendBodySchema.parse({ to: 'a@example.com', template: 'nothing' })
  const result = renderBody(body, new Map())
  expect(result.ok ? '' : refusalText(result.refusal)).toBe(
    'template: there is no published template nothing (a draft has to be published first); list them with: email-gateway template list --company NAME',
  )
})
