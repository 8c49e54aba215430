import { describe, expect, test } from 'vitest'
import type { Behaviour, ErrorRow } from '../../src/providers/errors/rules.ts'
import { SES_ERRORS } from '../../src/providers/ses/errors.ts'
import { edition, fault } from '../support/faults.ts'
import { until } from '../support/gateway.ts'
import { rows, sleep } from '../support/mail.ts'
import { typesOf } from '../support/outbox.ts'
import { type SesGateway, startSesGateway } from '../support/ses-gateway.ts'

const STARTED = ['RECEIVED', 'VALIDATED', 'SENT_ATTEMPT']
const RESENT = ['QUEUED', ...STARTED, 'UNKNOWN', 'RESOLVED', ...STARTED, 'SENT']
const MAX_ATTEMPTS = 5
const AT_A_TIME = 4

const rowsThat = (...behaviours: Behaviour[]) => SES_ERRORS.filter(([, , , one]) => behaviours.includes(one))
/** Of rows that mean the same, the short edition takes the first. */
const oneOfEach = (some: ErrorRow[]) =>
  some.filter((row, place) => some.findIndex(other => other[1] === row[1]) === place)

/** Each address is answered with the error of its name; with `next`, only so many times. */
function answerByName({ fake }: SesGateway, some: readonly ErrorRow[], next?: number): void {
  const rules = some.map(([name]) => ({
    match: { localPart: name },
    ...(next && { next }),
    answer: { kind: 'error' as const, status: 400, name },
  }))
  fake.control({ rules })
}

/** Every retry at once, with a success between, until none is left. */
async function exhaust(ses: SesGateway, ids: string[]): Promise<void> {
  const open = () => rows(ses.gateway, `select from email_outbox where outbox_id = any($1) and status <> 'DLQ'`, [ids])
  while ((await open()).length > 0) {
    await ses.makeDue(ids)
    await ses.reaches(await ses.send('healthy'), ['SENT'])
  }
}

const errorOf = ({ error_code, error_category }: Record<string, unknown>) => [error_code, error_category]

describe.concurrent('what Amazon SES answers, over the wire and through the whole gateway', () => {
  test('a final error: REJECTED after one attempt, with a dead letter', { timeout: 60_000 }, async context => {
    const { report } = fault(context, 'SES answers with a final error')
    const ses = await startSesGateway(context)
    const final = rowsThat('final')
    answerByName(ses, final)
    const ids = await Promise.all(final.map(([name]) => ses.send(name)))
    for (const [place, [name, code, category]] of final.entries()) {
      const stored = await ses.reaches(ids[place]!, ['REJECTED'])
      expect(typesOf(stored), name).toEqual(['QUEUED', ...STARTED, 'REJECTED', 'DLQ_MOVED'])
      expect(errorOf(stored.email), name).toEqual([code, category])
      expect(stored.email.attempts).toBe(1)
      expect(stored.dead).toMatchObject({ failed_attempts: 1, last_failure_code: code, provider_code: name })
    }
    expect(ses.fake.stats.requests - 1, 'one request each, and one for the account').toBe(final.length)
    report({
      done: `${final.length} rows of the table`,
      checked: 'REJECTED, code, category, one attempt, dead letter',
      figures: {},
    })
  })

  test('a passing error: five attempts, then the dead letter queue', { timeout: 90_000 }, async context => {
    const { report } = fault(context, 'SES answers with a passing error')
    const ses = await startSesGateway(context)
    const passing = rowsThat('retry')
    answerByName(ses, passing)
    const ids = new Map<string, string>()
    // A few at a time: ten failures without a success between them would be the provider's, not the e-mails'.
    for (let from = 0; from < passing.length; from += AT_A_TIME) {
      const some = passing.slice(from, from + AT_A_TIME).map(([name]) => name)
      for (const name of some) ids.set(name, await ses.send(name))
      await exhaust(
        ses,
        some.map(name => ids.get(name)!),
      )
    }
    for (const [name, code, category] of passing) {
      const stored = await ses.reaches(ids.get(name)!, ['DLQ'])
      const tried = [...STARTED, 'RETRY_SCHEDULED']
      expect(typesOf(stored), name).toEqual([
        'QUEUED',
        ...tried,
        ...tried,
        ...tried,
        ...tried,
        ...STARTED,
        'FAILED',
        'DLQ_MOVED',
      ])
      expect(errorOf(stored.email), name).toEqual([code, category])
      expect(stored.dead).toMatchObject({ failed_attempts: MAX_ATTEMPTS })
      expect(stored.dead.retry_history).toHaveLength(MAX_ATTEMPTS)
    }
    report({
      done: `${passing.length} rows of the table`,
      checked: 'five attempts, then DLQ with five failures told',
      figures: {},
    })
  })

  test('a throttling answer: tried again, and no attempt is spent', { timeout: 60_000 }, async context => {
    const { report } = fault(context, 'SES throttles')
    const ses = await startSesGateway(context)
    const throttling = rowsThat('retry-slower')
    answerByName(ses, throttling, MAX_ATTEMPTS)
    const ids = await Promise.all(throttling.map(([name]) => ses.send(name)))
    const tried = [...STARTED, 'RETRY_SCHEDULED']
    for (const [place, [name, code, category]] of throttling.entries()) {
      const stored = await ses.reaches(ids[place]!, ['SENT', 'DLQ', 'REJECTED'], 40_000)
      expect(typesOf(stored), name).toEqual([
        'QUEUED',
        ...Array.from({ length: MAX_ATTEMPTS }, () => tried).flat(),
        ...STARTED,
        'SENT',
      ])
      expect(stored.email.attempts, name).toBe(1)
      for (const { metadata } of stored.events.filter(({ type }) => type === 'RETRY_SCHEDULED'))
        expect(metadata, name).toMatchObject({ errorCode: code, errorCategory: category, throttled: true, attempt: 1 })
    }
    report({
      done: `${throttling.length} rows of the table, each as often as an e-mail has attempts`,
      checked: 'sent with one attempt, every retry told as throttled',
      figures: {},
    })
  })

  test('an ambiguous error: UNKNOWN, and its policy decides', { timeout: 60_000 }, async context => {
    const { report } = fault(context, 'SES answers with an ambiguous error')
    const ses = await startSesGateway(context)
    const ambiguous = rowsThat('retry-ambiguous')
    for (const [name, code, category] of ambiguous) {
      ses.fake.control({
        rules: [{ match: { localPart: name }, next: 2, answer: { kind: 'error', status: 400, name } }],
      })
      const held = await ses.send(name, { onUnknown: 'hold' })
      const wasUnknown = await ses.reaches(held, ['UNKNOWN', 'RETRY_SCHEDULED', 'SENT'])
      expect(wasUnknown.email.status, name).toBe('UNKNOWN')
      expect(errorOf(wasUnknown.email)).toEqual([code, category])
      const resent = await ses.reaches(await ses.send(name, { onUnknown: 'resend' }), ['SENT'])
      expect(typesOf(resent)).toEqual(RESENT)
      expect((await ses.reaches(held, ['UNKNOWN'])).email.attempts, 'it is still held').toBe(1)
    }
    report({
      done: `${ambiguous.length} rows of the table`,
      checked: 'UNKNOWN; hold stays, resend is sent after the grace',
      figures: {},
    })
  })

  test('a 503 of a proxy behind which SES took the message: a held e-mail is not sent again', {
    timeout: 60_000,
  }, async context => {
    const { report } = fault(context, 'A proxy answers 503 after SES took the message')
    const ses = await startSesGateway(context)
    const answer = { kind: 'text', status: 503, body: '<html>Service Unavailable</html>', accepted: true } as const
    ses.fake.control({ rules: [{ next: 2, answer }] })
    const held = await ses.send('held', { onUnknown: 'hold' })
    await ses.reaches(held, ['UNKNOWN', 'RETRY_SCHEDULED', 'SENT'])
    // Its grace ends after that of the held one, which would have been sent again by then.
    const resent = await ses.send('resent', { onUnknown: 'resend' })
    expect(typesOf(await ses.reaches(resent, ['SENT']))).toEqual(RESENT)
    expect(typesOf(await ses.reaches(held, ['UNKNOWN']))).toEqual(['QUEUED', ...STARTED, 'UNKNOWN'])
    const acceptedOf = (id: string) => ses.fake.accepted.filter(one => one.outboxId === id).length
    expect([acceptedOf(held), acceptedOf(resent)]).toEqual([1, 2])
    report({
      done: 'one held e-mail, and one to be sent again',
      checked: 'UNKNOWN, the held one accepted once, the other one twice',
      figures: {},
    })
  })

  const parking = rowsThat('final-parked', 'retry-parked')
  test.for(edition(oneOfEach(parking), parking))(
    '%s → %s: the provider is parked, mail waits and spends no attempt',
    {
      timeout: 60_000,
    },
    async ([name, code], context) => {
      const { report } = fault(context, 'SES answers with an error that is the account’s')
      const ses = await startSesGateway(context)
      ses.fake.control({ default: { kind: 'error', status: 400, name } })
      const first = await ses.send('first')
      const ask = () => rows(ses.gateway, `select state, reason_code from providers where name = 'ses'`)
      await until(ask, ([provider]) => provider.state === 'open')
      expect(await ask()).toEqual([{ state: 'open', reason_code: code }])
      await ses.gateway.db.pool.query(`update providers set probe_at = now() + interval '1 hour'`)
      // A probe that was granted just before that has left by now.
      await sleep(1_500)
      const requests = ses.fake.stats.requests
      const second = await ses.send('second')
      await sleep(600)
      for (const id of [first, second])
        expect((await ses.reaches(id, ['PENDING'])).email).toMatchObject({ attempts: 0, status: 'PENDING' })
      expect(ses.fake.stats.requests, 'nothing is asked of a parked provider').toBe(requests)
      ses.fake.control({ default: { kind: 'ok' } })
      await ses.gateway.db.pool.query(`update providers set probe_at = now()`)
      expect((await ses.reaches(first, ['SENT'])).email.attempts).toBe(1)
      expect(typesOf(await ses.reaches(second, ['SENT']))).toEqual(['QUEUED', ...STARTED, 'SENT'])
      await until(ask, ([provider]) => provider.state === 'closed')
      report({
        done: `${edition(oneOfEach(parking), parking).length} rows of the table; one e-mail met it, a second one waited`,
        checked: 'parked, no attempt spent, the probe brings it back',
        figures: {},
      })
    },
  )
})
