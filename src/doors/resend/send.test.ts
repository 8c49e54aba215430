import { describe, expect, test } from 'vitest'
import { type NamedTemplate, type ResendEmail, resendEmailSchema, toSendBody } from './send.ts'

const NOW = new Date('2026-11-15T10:00:00Z')
const LEAST = { from: 'shop@example.com', to: 'maria@example.com', subject: 'Hello', text: 'Hi' }

const read = (change: object): ResendEmail => resendEmailSchema.parse({ ...LEAST, ...change })
function bodyOf(change: object, named: NamedTemplate | null = null) {
  const translated = toSendBody(read(change), named, NOW)
  if (!translated.ok) throw new Error(JSON.stringify(translated.problems))
  return translated.body
}
const refused = (change: object) => {
  const issues = resendEmailSchema.safeParse({ ...LEAST, ...change }).error?.issues ?? []
  return issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; ')
}

describe('an e-mail of the Resend API', () => {
  test('has one address or several, and empty lists are none', () => {
    expect(bodyOf({}).to.map(one => one.address)).toEqual(['maria@example.com'])
    expect(bodyOf({ to: ['a@example.com', 'b@example.com'] }).to).toHaveLength(2)
    expect(bodyOf({ cc: [], bcc: [], reply_to: [] })).toMatchObject({ cc: [], bcc: [], replyTo: undefined })
    expect(refused({ to: [] })).toMatch(/^to /)
  })

  test('has at most 50 recipients in all', () => {
    const many = (count: number) => Array.from({ length: count }, (_, i) => `r${i}@example.com`)
    expect(refused({ to: many(48), cc: many(1), bcc: 'x@example.com' })).toBe('')
    expect(refused({ to: many(48), cc: many(2), bcc: 'x@example.com' })).toMatch(/at most 50 addresses.*has 51/)
  })

  test('may have an empty text or an empty HTML, not both', () => {
    expect(bodyOf({ html: '<p>x</p>', text: '' })).toMatchObject({ html: '<p>x</p>', text: undefined })
    expect(refused({ html: '', text: '' })).toBe('html or the `text` field is required')
  })

  test('may have a blank text or a blank HTML, not both, and no blank subject', () => {
    expect(bodyOf({ text: ' \n', html: '<p>Hi</p>' })).toMatchObject({ text: undefined, html: '<p>Hi</p>' })
    expect(refused({ text: ' ', html: '\t' })).toBe('html or the `text` field is required')
    expect(refused({ text: ' '.repeat(600_000), html: '<p>Hi</p>' })).toBe('')
    expect(refused({ subject: '  ' })).toBe('subject must not be blank')
  })

  test('has one file for each content id', () => {
    const attachments = [1, 2].map(() => ({ filename: 'a.gif', content: 'AAAA', content_id: 'logo' }))
    expect(refused({ attachments })).toBe('attachments.1.content_id is the same as that of attachments[0]')
  })

  test('has tags as name and value, and files with their names in our form', () => {
    const attachments = [{ filename: 'a.png', content: 'aGk=', content_type: 'image/png', content_id: 'a' }]
    expect(bodyOf({ tags: [{ name: 'a', value: 'b' }], attachments })).toMatchObject({
      tags: ['a:b'],
      attachments: [{ filename: 'a.png', content: 'aGk=', contentType: 'image/png', contentId: 'a' }],
    })
  })

  test('is due at the time that its words mean, within 30 days', () => {
    expect(bodyOf({ scheduled_at: 'in 1 hour' }).scheduledAt).toBe('2026-11-15T11:00:00.000Z')
    const problems = (scheduled_at: string) => {
      const translated = toSendBody(read({ scheduled_at }), null, NOW)
      return translated.ok ? [] : translated.problems
    }
    expect(problems('soon')).toMatchObject([{ path: 'scheduled_at', message: expect.stringMatching(/ISO 8601/) }])
    expect(problems('in 31 days')).toMatchObject([{ path: 'scheduled_at', message: expect.stringMatching(/30 days/) }])
  })

  test('names every problem at once', () => {
    const { from: _, ...withoutFrom } = LEAST
    const issues = resendEmailSchema.safeParse({ ...withoutFrom, to: 'x', unknown: 1 }).error!.issues
    expect(issues.map(({ path, code }) => `${path.join('.')}:${code}`).sort()).toEqual([
      ':unrecognized_keys',
      'from:custom',
      'to:invalid_union',
    ])
  })
})

describe('an e-mail with a template', () => {
  const named: NamedTemplate = {
    type: 'order',
    locale: 'en',
    from: 'Boss <boss@example.com>',
    replyTo: ['help@example.com'],
    variables: [{ key: 'N', type: 'number', fallback_value: null }],
  }
  const email = { from: undefined, subject: undefined, text: undefined, template: { id: 't1', variables: { N: 1 } } }

  test('gets sender and reply address of the template, unless it has its own', () => {
    expect(bodyOf(email, named)).toMatchObject({
      template: 'order',
      locale: 'en',
      variables: { N: 1 },
      from: { address: 'boss@example.com', displayName: 'Boss' },
      replyTo: [{ address: 'help@example.com' }],
    })
    const own = bodyOf({ ...email, from: 'me@example.com', reply_to: 'me@example.com' }, named)
    expect(own).toMatchObject({ from: { address: 'me@example.com' }, replyTo: [{ address: 'me@example.com' }] })
  })

  test('that the company does not have is looked for by its type', () => {
    expect(bodyOf(email)).toMatchObject({ template: 't1', from: undefined, locale: undefined })
  })

  test('is refused with a value of another type, or with content of its own', () => {
    const wrong = toSendBody(read({ ...email, template: { id: 't1', variables: { N: '1' } } }), named, NOW)
    expect(wrong).toMatchObject({ ok: false, problems: [{ path: 'template.variables.N' }] })
    expect(refused({ ...email, text: 'x' })).toMatch(/template cannot be combined/)
  })
})
