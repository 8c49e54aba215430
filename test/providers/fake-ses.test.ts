import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sesProvider } from '../../src/providers/ses/ses.ts'
import { readAcceptLog } from '../support/accept-log.ts'
import { startFakeSes } from '../support/fake-ses.ts'
import { makeTestFolder } from '../support/postgres.ts'
import { type SpawnedFakeSes, spawnFakeSes } from '../support/spawn-fake-ses.ts'
import { failureOf, message, messageIdOf, patient } from './message.ts'

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' }
const providerAt = (endpoint: string) =>
  sesProvider({ name: 'ses', region: 'eu-west-1', configurationSet: null, endpoint, credentials })

let folder: string
let logFile: string
let fake: SpawnedFakeSes
beforeAll(async () => {
  folder = await makeTestFolder()
  logFile = join(folder, 'accepted.jsonl')
  fake = await spawnFakeSes({ logFile })
})
afterAll(async () => {
  await fake.kill()
  await rm(folder, { recursive: true, force: true })
})

test('the fake has on the disk what it answered for, and keeps it through kill -9', async () => {
  const ses = providerAt(fake.url)
  const messages = Array.from({ length: 200 }, () => message())
  const results = await Promise.all(messages.map(one => ses.send(one, patient())))
  await fake.kill()
  const lines = fake.accepted()
  expect(new Set(lines.map(line => line.messageId))).toEqual(new Set(results.map(messageIdOf)))
  expect(new Set(lines.map(line => line.attemptId))).toEqual(new Set(messages.map(one => one.attemptId)))
  await ses.close()
  fake = await spawnFakeSes({ logFile })
})

test('rules answer by recipient, local part, tag and count; the rest is accepted in order', async () => {
  const ses = providerAt(fake.url)
  const busy = { kind: 'error', status: 400, name: 'TooManyRequestsException' } as const
  const sent = message({ to: ['slow@example.com'], tags: ['company:acme'] })
  await fake.control({
    reset: true,
    rules: [
      { match: { recipient: 'bad@example.com' }, answer: { kind: 'error', status: 400, name: 'MessageRejected' } },
      { match: { localPart: 'lost' }, answer: { kind: 'reset', when: 'after', accepted: true } },
      { match: { outboxId: sent.outboxId }, answer: { kind: 'slow', latencyMs: 50 } },
      { match: { tag: { name: 'company', value: 'late' } }, answer: { kind: 'hang', accepted: false } },
      { next: 1, answer: busy },
    ],
  })
  const before = fake.accepted().length
  expect(failureOf(await ses.send(message({ to: ['bad@example.com'] }), patient())).code).toBe('SES_MESSAGE_REJECTED')
  expect(failureOf(await ses.send(message({ to: ['lost@example.com'] }), patient())).ambiguous).toBe(true)
  messageIdOf(await ses.send(sent, patient()))
  expect(failureOf(await ses.send(message({ tags: ['company:late'] }), AbortSignal.timeout(500))).ambiguous).toBe(true)
  expect(failureOf(await ses.send(message(), patient())).code).toBe('SES_THROTTLING')
  messageIdOf(await ses.send(message({ to: ['last@example.com'] }), patient()))
  const accepted = fake.accepted().slice(before)
  expect(accepted.map(line => line.to[0])).toEqual(['lost@example.com', 'slow@example.com', 'last@example.com'])
  expect(accepted[1]!.tags).toMatchObject({ company: 'acme' })
  expect(await fake.stats()).toMatchObject({ requests: 6, accepted: 3, maxConcurrent: 1 })
  await ses.close()
})

test('concurrent acceptances share the disk', async () => {
  const file = join(folder, 'busy.jsonl')
  const busy = await startFakeSes({ logFile: file, keepBodies: false })
  const ses = providerAt(busy.url)
  await Promise.all(Array.from({ length: 300 }, () => ses.send(message(), patient())))
  expect(readAcceptLog<{ seq: number }>(file).map(line => line.seq)).toEqual(
    Array.from({ length: 300 }, (_, i) => i + 1),
  )
  expect(busy.stats.maxConcurrent).toBeGreaterThan(10)
  await ses.close()
  await busy.close()
})
