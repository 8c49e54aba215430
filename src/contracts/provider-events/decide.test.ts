import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hashEmail } from '../hashing.ts'
import { EMAIL_STATUSES } from '../states.ts'
import { addressForms, decideEmail, type EmailBefore, type Said } from './decide.ts'

const person = (
  ordinal: number,
  kind: 'to' | 'cc',
  address: string | null,
  status: EmailBefore['status'] = 'SENT',
) => ({
  ...{ ordinal, kind, address, status },
  suppressed: false,
})
const email = (change: Partial<EmailBefore> = {}): EmailBefore => ({
  outboxId: '01a1dfe1-467e-705f-8fd1-0b50e5004f4c',
  status: 'SENT',
  attemptId: null,
  doubted: false,
  recipients: [person(0, 'to', 'maria@example.com')],
  ...change,
})
const said = (kind: Said['kind'], change: Partial<Said> = {}): Said => ({
  kind,
  recipient: 'maria@example.com',
  at: '2026-01-23T10:00:00.000Z',
  feedbackId: null,
  metadata: kind === 'BOUNCED' ? { bounceType: 'Permanent' } : {},
  provider: 'ses',
  messageId: 'm-1',
  attemptId: null,
  ...change,
})

describe('reports about one e-mail', () => {
  test('in any order and number end in the same state, the same moments and the same events', () => {
    const things = [
      said('SENT', { recipient: null }),
      said('BOUNCED', { feedbackId: 'b-1', metadata: { bounceType: 'Transient' } }),
      said('BOUNCED', { feedbackId: 'b-2', at: '2026-01-23T10:00:03.000Z' }),
      said('DELIVERED', { at: '2026-01-23T10:00:02.000Z' }),
      said('COMPLAINED', { at: '2026-01-23T10:00:04.000Z' }),
    ]
    const all = fc.shuffledSubarray([...things, ...things], { minLength: 10 })
    fc.assert(
      fc.property(all, fc.constantFrom(...EMAIL_STATUSES), (told, status) => {
        const end = decideEmail(email({ status, recipients: [person(0, 'to', 'maria@example.com', status)] }), told)
        expect(end).toMatchObject({
          status: 'COMPLAINED',
          bounceType: 'Permanent',
          bouncedAt: things[1]!.at,
          deliveredAt: things[3]!.at,
        })
        expect(end.events.filter(one => one.type !== 'RESOLVED').map(one => one.type)).toEqual([
          'SENT',
          'BOUNCE',
          'DELIVERED',
          'BOUNCE',
          'COMPLAINT',
        ])
      }),
    )
  })

  test('about a cc leave the e-mail to its to, but show that it left', () => {
    const recipients = [person(0, 'to', 'maria@example.com', 'PENDING'), person(1, 'cc', 'bob@example.com', 'PENDING')]
    const end = decideEmail(email({ status: 'UNKNOWN', doubted: true, recipients }), [
      said('BOUNCED', { recipient: 'bob@example.com' }),
    ])
    expect(end).toMatchObject({ status: 'SENT', resolved: true, bouncedAt: null })
    expect(end.recipients.map(one => [one.ordinal, one.status])).toEqual([
      [0, 'SENT'],
      [1, 'BOUNCED'],
    ])
    expect(end.events.map(one => [one.type, one.effect?.emailHash])).toEqual([
      ['RESOLVED', undefined],
      ['SENT', undefined],
      ['BOUNCE', hashEmail('bob@example.com')],
    ])
  })

  test('that overtake the answer tell that it was sent, once and first', () => {
    const typesAfter = (status: EmailBefore['status'], ...told: Said[]) =>
      decideEmail(email({ status, recipients: [person(0, 'to', 'maria@example.com', status)] }), told).events.map(
        one => one.type,
      )
    expect(typesAfter('PROCESSING', said('DELIVERED'))).toEqual(['SENT', 'DELIVERED'])
    expect(typesAfter('PROCESSING', said('SENT', { recipient: null }), said('DELIVERED'))).toEqual([
      'SENT',
      'DELIVERED',
    ])
    expect(typesAfter('SENT', said('DELIVERED'))).toEqual(['DELIVERED'])
    expect(typesAfter('PROCESSING', said('REJECTED'))).toEqual(['REJECTED'])
  })

  test('without an id of their own, the graver one is another fact and has its effect', () => {
    const effectsOf = (...told: Said[]) => decideEmail(email(), told).events.map(one => one.effect?.kind)
    const soft = said('BOUNCED', { metadata: { bounceType: 'Transient' } })
    expect(effectsOf(soft, said('BOUNCED', { at: '2026-01-23T10:00:01.000Z' }))).toEqual([undefined, 'HARD_BOUNCE'])
    const notSpam = said('COMPLAINED', { metadata: { feedbackType: 'not-spam' } })
    expect(effectsOf(notSpam, said('COMPLAINED', { at: '2026-01-23T10:00:01.000Z' }))).toEqual([undefined, 'COMPLAINT'])
  })

  test('about nobody we wrote to are told, and move nobody', () => {
    const recipients = [person(0, 'to', 'maria@example.com'), person(1, 'cc', 'bob@example.com')]
    const end = decideEmail(email({ recipients }), [said('BOUNCED', { recipient: 'eve@example.com' })])
    expect([end.status, end.recipients, end.events.length]).toEqual(['SENT', [], 1])
  })

  test('name the same fact by the same id, whichever message brings it, and another by another', () => {
    const idOf = (change: Partial<Said>) => decideEmail(email(), [said('BOUNCED', change)]).events[0]!.id
    expect(idOf({ at: '2026-02-01T00:00:00.000Z', attemptId: 'x' })).toBe(idOf({}))
    expect(
      new Set([idOf({}), idOf({ feedbackId: 'b' }), idOf({ messageId: 'm-2' }), idOf({ provider: 'resend' })]).size,
    ).toBe(4)
  })

  test('a complaint that is not spam has no effect, a soft bounce neither', () => {
    const end = decideEmail(email(), [
      said('COMPLAINED', { metadata: { feedbackType: 'not-spam' } }),
      said('BOUNCED', { metadata: { bounceType: 'Transient' } }),
    ])
    expect(end.events.map(one => one.effect)).toEqual([null, null])
    expect(end).toMatchObject({ status: 'BOUNCED', complainedAt: null })
  })
})

test('an address is known by both ways to write its domain', () => {
  expect(addressForms('a@xn--mller-kva.example')).toEqual(['a@xn--mller-kva.example', 'a@müller.example'])
  expect(addressForms('a@example.com')).toEqual(['a@example.com'])
})
