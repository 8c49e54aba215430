import { describe, expect, test } from 'vitest'
import { startFakeSes } from '../support/fake-ses.ts'
import { fault, freePort } from '../support/faults.ts'
import { until } from '../support/gateway.ts'
import { rows } from '../support/mail.ts'
import { typesOf } from '../support/outbox.ts'
import { startSesGateway } from '../support/ses-gateway.ts'

const STARTED = ['RECEIVED', 'VALIDATED', 'SENT_ATTEMPT']
const retried = (times: number) => [
  'QUEUED',
  ...Array.from({ length: times }, () => [...STARTED, 'RETRY_SCHEDULED']).flat(),
  ...STARTED,
  'SENT',
]
const HELD = ['QUEUED', ...STARTED, 'UNKNOWN']
const RESENT = ['QUEUED', ...STARTED, 'UNKNOWN', 'RESOLVED', ...STARTED, 'SENT']

describe.concurrent('when Amazon SES does not answer, or answers without words', () => {
  // First, since it takes longest and only waits.
  test('it hangs: the call ends after 30 seconds and is UNKNOWN, held or sent again', {
    timeout: 90_000,
  }, async context => {
    const { report } = fault(context, 'SES hangs')
    const ses = await startSesGateway(context)
    ses.fake.control({ rules: [{ next: 2, answer: { kind: 'hang', accepted: true } }] })
    const [held, resent] = [await ses.send('held', { onUnknown: 'hold' }), await ses.send('resent')]
    const stored = await ses.reaches(held, ['UNKNOWN', 'RETRY_SCHEDULED', 'SENT'], 45_000)
    const timeOf = (type: string) => stored.events.find(event => event.type === type)!.created_at.getTime()
    const seconds = (timeOf('UNKNOWN') - timeOf('SENT_ATTEMPT')) / 1000
    expect([stored.email.status, stored.email.error_code]).toEqual(['UNKNOWN', 'SES_TIMEOUT'])
    expect(seconds).toBeGreaterThan(29)
    expect(seconds).toBeLessThan(38)
    expect(typesOf(await ses.reaches(resent, ['SENT']))).toEqual(RESENT)
    expect(ses.fake.accepted.map(line => line.outboxId).toSorted()).toEqual([held, resent, resent].toSorted())
    report({
      done: 'two e-mails accepted by SES, which never answers',
      checked: 'UNKNOWN after 30 s; hold stays one message, resend is a counted second one',
      figures: { 'seconds to UNKNOWN': seconds.toFixed(1) },
    })
  })

  test('nobody listens: nothing has left, so it is tried again', { timeout: 60_000 }, async context => {
    const port = await freePort()
    const ses = await startSesGateway(context, `http://127.0.0.1:${port}`)
    const id = await ses.send('maria')
    const { email } = await ses.reaches(id, ['RETRY_SCHEDULED', 'UNKNOWN'])
    expect([email.status, email.error_code]).toEqual(['RETRY_SCHEDULED', 'NETWORK_ERROR'])
    const back = await startFakeSes({ port })
    context.onTestFinished(() => back.close())
    await ses.makeDue([id])
    // Once more by itself, where this machine was slower than its retry.
    const stored = await ses.reaches(id, ['SENT'])
    expect(stored.email.attempts, 'no connection spends no attempt').toBe(1)
    const types = typesOf(stored)
    const failed = types.filter(type => type === 'RETRY_SCHEDULED').length
    expect(failed).toBeGreaterThan(0)
    expect(types).toEqual(retried(failed))
    expect(back.accepted).toHaveLength(1)
  })

  test.for([true, false])(
    'the connection is cut after the request (accepted: %s): UNKNOWN, then its policy',
    {
      timeout: 60_000,
    },
    async (accepted, context) => {
      const ses = await startSesGateway(context)
      const answer = { kind: 'reset' as const, when: 'after' as const, accepted }
      ses.fake.control({ rules: [{ next: 2, answer }] })
      const [held, resent] = [await ses.send('held', { onUnknown: 'hold' }), await ses.send('resent')]
      const stored = await ses.reaches(held, ['UNKNOWN', 'RETRY_SCHEDULED', 'SENT'])
      expect([stored.email.status, stored.email.error_code]).toEqual(['UNKNOWN', 'NETWORK_ERROR'])
      expect(typesOf(await ses.reaches(resent, ['SENT']))).toEqual(RESENT)
      const sentTo = (id: string) => ses.fake.accepted.filter(line => line.outboxId === id).length
      expect([sentTo(held), sentTo(resent)]).toEqual(accepted ? [1, 2] : [0, 1])
    },
  )

  test.for([
    [408, 'SES_TIMEOUT', 'TIMEOUT_ERROR'],
    [500, 'SES_HTTP_500', 'TRANSIENT_ERROR'],
    [502, 'SES_HTTP_502', 'TRANSIENT_ERROR'],
    [503, 'SES_HTTP_503', 'TRANSIENT_ERROR'],
  ] as const)(
    '%s without a name may come from a proxy that passed the message on: UNKNOWN as %s, then its policy',
    { timeout: 60_000 },
    async ([status, code, category], context) => {
      const ses = await startSesGateway(context)
      const answer = { kind: 'text' as const, status, body: '<html>Not now</html>', accepted: true }
      ses.fake.control({ rules: [{ next: 2, answer }] })
      const held = await ses.send('held', { onUnknown: 'hold' })
      await ses.reaches(held, ['UNKNOWN', 'RETRY_SCHEDULED', 'SENT'])
      // Its grace ends after that of the held one, which would have been sent again by then.
      const resent = await ses.send('resent', { onUnknown: 'resend' })
      expect(typesOf(await ses.reaches(resent, ['SENT']))).toEqual(RESENT)
      const stored = await ses.reaches(held, ['UNKNOWN', 'RETRY_SCHEDULED', 'SENT'])
      expect(typesOf(stored)).toEqual(HELD)
      expect(stored.email).toMatchObject({ status: 'UNKNOWN', error_code: code, error_category: category, attempts: 1 })
      const sentTo = (id: string) => ses.fake.accepted.filter(line => line.outboxId === id).length
      expect([sentTo(held), sentTo(resent)]).toEqual([1, 2])
    },
  )

  test('429 without a name slows the provider down and spends no attempt', { timeout: 60_000 }, async context => {
    const ses = await startSesGateway(context)
    ses.fake.control({ rules: [{ next: 1, answer: { kind: 'text', status: 429, body: '<html>Not now</html>' } }] })
    const stored = await ses.reaches(await ses.send('maria'), ['SENT'])
    expect(typesOf(stored)).toEqual(retried(1))
    expect(stored.events.find(event => event.type === 'RETRY_SCHEDULED')!.metadata).toMatchObject({
      errorCode: 'SES_RATE_LIMITED',
      errorCategory: 'QUOTA_ERROR',
      throttled: true,
      attempt: 1,
      nextAttemptNumber: 1,
    })
    expect(stored.email.attempts).toBe(1)
    // The lower rate is shared while the e-mail goes its way.
    await until(
      () => rows(ses.gateway, 'select slow_to < slow_from as slowed from providers'),
      ([provider]) => provider?.slowed === true,
    )
    expect(ses.fake.accepted).toHaveLength(1)
  })
})
