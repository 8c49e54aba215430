import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { sendBodySchema } from '../outbox/send-body.ts'
import { fieldProblems, REPORT_INPUT, summarise } from '../platform/text/refusal.ts'
import { invalidField, Problem, problemBody, refusalProblem } from './problem.ts'

const messageOf = (problem: Problem) => problemBody(problem, 'request-1').message

test('the message names the first field and what is wrong with it', () => {
  const errors = [
    { path: 'externalId', code: 'INVALID_TYPE', message: 'expected string, received number' },
    { path: 'to', code: 'INVALID_TYPE', message: 'is required' },
  ]
  expect(messageOf(new Problem('INVALID_PAYLOAD', { errors }))).toBe(
    'Some fields are not valid: externalId: expected string, received number',
  )
  expect(messageOf(invalidField('', 'give scheduledAt or delay', 'NOT_TOGETHER'))).toBe(
    'Some fields are not valid: give scheduledAt or delay',
  )
  expect(messageOf(new Problem('NOT_FOUND'))).toBe('Not found')
  expect(messageOf(new Problem('NOT_FOUND', { detail: 'Email not found' }))).toBe('Email not found')
})

test('the example of an error in docs/api.md is what the gateway answers', () => {
  const page = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8')
  const example = JSON.parse(/```json\n(\{"type":"about:blank"[\s\S]*?)```/.exec(page)![1]!)
  const body = { to: 'maria@example.com', subject: 'x'.repeat(163), text: 'Hi' }
  const { error } = sendBodySchema.safeParse(body, REPORT_INPUT)
  const answer = problemBody(refusalProblem(summarise(fieldProblems(error!.issues))), example.requestId)
  expect(JSON.parse(JSON.stringify(answer))).toEqual(example)
})
