import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../../support/gateway.ts'
import {
  captured,
  type Json,
  keptOf,
  mail,
  NOTHING_KEPT,
  read,
  rows,
  send,
  sendOk,
  untilStatus,
} from '../../support/mail.ts'

const KB = 1024
const MB = 1024 * KB
const HELD_UP_MS = 1_000
const NEIGHBOUR_PAUSE_MS = 10

let gateway: TestGateway
let company: TestCompany
let neighbour: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway()
  neighbour = await gateway.company()
  await Promise.all(many(20, () => sendOk(gateway, neighbour)))
})
afterAll(() => gateway.stop())

function many<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

type Plain = { status: number; body: Json; text: string; headers: Record<string, unknown> }

/** Takes the answer even when it comes before the body has been sent. */
function post(path: string, body: string | Buffer, headers: Record<string, string | number> = {}): Promise<Plain> {
  return new Promise((resolve, reject) => {
    const sending = request(gateway.url + path, {
      method: 'POST',
      headers: { 'x-api-key': company.apiKey, 'content-type': 'application/json', ...headers },
    })
    sending.on('response', response => {
      const parts: Buffer[] = []
      response.on('data', part => parts.push(part))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(parts).toString()
        sending.destroy()
        resolve({ status: response.statusCode!, headers: response.headers, text, body: text ? JSON.parse(text) : null })
      })
    })
    // A server that has answered may close while we still write.
    sending.on('error', error => setTimeout(() => reject(error), 1_000))
    sending.end(body)
  })
}

type Endured<T> = { result: T; worstMs: number; tookMs: number }

/**
 * Does something terrible, and tells how long the slowest of a neighbour's requests took meanwhile. What holds neighbours
 * up does so every time, a busy machine now and then: the calmest of three counts.
 */
async function besideNeighbours<T>(attack: () => Promise<T>): Promise<Endured<T>> {
  let calmest = await onceBesideNeighbours(attack)
  for (let again = 0; again < 2 && calmest.worstMs >= HELD_UP_MS; again++) {
    const next = await onceBesideNeighbours(attack)
    if (next.worstMs < calmest.worstMs) calmest = next
  }
  return calmest
}

async function onceBesideNeighbours<T>(attack: () => Promise<T>): Promise<Endured<T>> {
  let [worstMs, sent, over] = [0, 0, false]
  const startedAt = performance.now()
  let tookMs = 0
  const attacking = attack().finally(() => {
    over = true
    tookMs = performance.now() - startedAt
  })
  while (!over || sent < 20) {
    const sentAt = ownMs()
    await sendOk(gateway, neighbour)
    worstMs = Math.max(worstMs, ownMs() - sentAt)
    sent++
    // Whoever is held up for HELD_UP_MS meets one of these requests, so they need not follow at once.
    await sleep(NEIGHBOUR_PAUSE_MS)
  }
  return { result: await attacking, worstMs, tookMs }
}

/** The time that passes, without that in which other programs had the core that this thread wanted. */
function ownMs(): number {
  return performance.now() - waitedForACoreMs()
}

function waitedForACoreMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}

async function expectRefusedEverywhere(body: string, status: number, code: string): Promise<void> {
  company = await gateway.company()
  for (const [path, text] of [
    ['/v1/email/send', body],
    ['/v1/email/batch', `[${body}]`],
  ] as const) {
    const answer = await gateway.call(company, 'POST', path, text, { 'idempotency-key': 'k' })
    expect([answer.status, answer.body?.code]).toEqual([status, code])
    expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/)
  }
  expect(await keptOf(gateway, company.companyId)).toEqual(NOTHING_KEPT)
}

describe('keys that reach for the prototype', () => {
  const inside = (json: string) => JSON.stringify(mail()).replace(/}$/, `,${json}}`)

  test.each([
    ['__proto__', inside('"__proto__":{"polluted":1}')],
    ['__proto__ in escapes', inside('"\\u005f_proto__":{"polluted":1}')],
    ['__proto__ in headers', inside('"headers":{"__proto__":{"polluted":1}}')],
    ['__proto__ in variables', inside('"template":"x","variables":{"a":{"__proto__":{"polluted":1}}}')],
    [
      '__proto__ in attachments',
      inside('"attachments":[{"filename":"a","content":"AAAA","__proto__":{"polluted":1}}]'),
    ],
    ['__proto__ that is null', inside('"__proto__":null')],
    ['constructor.prototype', inside('"constructor":{"prototype":{"polluted":1}}')],
    ['constructor.prototype in recipient', inside('"recipient":{"constructor":{"prototype":{"polluted":1}}}')],
  ])('%s are refused', async (_name, body) => {
    await expectRefusedEverywhere(body, 400, 'INVALID_JSON')
    expect(({} as Json).polluted).toBeUndefined()
  })

  test('but are words like any other inside a text', async () => {
    company = await gateway.company()
    const outboxId = await sendOk(gateway, company, {
      subject: '"__proto__": {}',
      html: '<p>constructor.prototype</p>',
    })
    expect((await read(gateway, company, outboxId)).subject).toBe('"__proto__": {}')
  })

  test.each(['constructor', 'toString', 'hasOwnProperty', 'valueOf', 'prototype'])(
    '%s alone is an unknown field',
    async name => {
      company = await gateway.company()
      const answer = await send(gateway, company, mail({ [name]: 'x' }))
      expect([answer.status, answer.body.errors[0].path]).toEqual([422, name])
      const header = await send(gateway, company, mail({ headers: { [name]: 'x' } }))
      expect([header.status, header.body.errors[0].path]).toEqual([422, `headers.${name}`])
    },
  )
})

describe('JSON nested ten thousand deep', () => {
  test.each([
    ['lists', '['.repeat(10_000) + ']'.repeat(10_000)],
    ['objects', '{"a":'.repeat(10_000) + 1 + '}'.repeat(10_000)],
    ['lists and objects', '[{"a":'.repeat(10_000) + 1 + '}]'.repeat(10_000)],
    [
      'lists in variables',
      `{"to":"a@b.example","subject":"x","template":"x","variables":{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}}`,
    ],
    ['a million lists', '['.repeat(1_000_000) + ']'.repeat(1_000_000)],
  ])('%s are refused', async (_name, body) => {
    await expectRefusedEverywhere(body, 400, 'INVALID_JSON')
  })
})

describe('NUL and unpaired surrogates', () => {
  const FIELDS: [path: string, change: (text: string) => Record<string, unknown>][] = [
    ['to', text => ({ to: text })],
    ['to', text => ({ to: `${text} <maria@example.com>` })],
    ['cc[1]', text => ({ cc: ['a@b.example', text] })],
    ['bcc[0]', text => ({ bcc: [text] })],
    ['from', text => ({ from: `${text} <a@b.example>` })],
    ['replyTo', text => ({ replyTo: text })],
    ['replyTo[0]', text => ({ replyTo: [text] })],
    ['subject', text => ({ subject: text })],
    ['html', text => ({ html: `<p>${text}</p>` })],
    ['html', text => ({ html: `${'<p>x</p>'.repeat(2_000)}${text}` })],
    ['text', text => ({ text })],
    ['template', text => ({ html: undefined, template: text })],
    ['variables.name', text => ({ html: undefined, template: 'x', variables: { name: text } })],
    ['variables.people[0].name', text => ({ html: undefined, template: 'x', variables: { people: [{ name: text }] } })],
    ['headers.X-A', text => ({ headers: { 'X-A': text } })],
    ['tags[1]', text => ({ tags: ['a', text] })],
    ['attachments[0].filename', text => ({ attachments: [{ filename: text, content: 'AAAA' }] })],
    ['attachments[0].content', text => ({ attachments: [{ filename: 'a', content: text }] })],
    [
      'attachments[0].contentType',
      text => ({ attachments: [{ filename: 'a', content: 'AAAA', contentType: `a/${text}` }] }),
    ],
    ['attachments[0].contentId', text => ({ attachments: [{ filename: 'a', content: 'AAAA', contentId: text }] })],
    ['recipient.externalId', text => ({ recipient: { externalId: text } })],
    ['recipient.nome', text => ({ recipient: { nome: text } })],
    ['recipient.razaoSocial', text => ({ recipient: { razaoSocial: text } })],
    ['recipient.cpfCnpj', text => ({ recipient: { cpfCnpj: text } })],
    ['recipient.cpfCnpjHash', text => ({ recipient: { cpfCnpjHash: text } })],
    ['recipient.recipientId', text => ({ recipient: { recipientId: text } })],
    ['recipient.email', text => ({ recipient: { email: text } })],
    ['externalId', text => ({ externalId: text })],
    ['retryPolicy', text => ({ retryPolicy: text })],
    ['onUnknown', text => ({ onUnknown: text })],
    ['scheduledAt', text => ({ scheduledAt: text })],
    ['unknownField', text => ({ unknownField: text })],
  ]
  const TEXTS = ['a\u0000b', '\ud800', 'a\udc00b', '\udc00\ud800', `${'x'.repeat(50)}\ud83d`]

  test.each(FIELDS)(
    'in %s are refused by name, and the neighbours of the moment are accepted',
    async (path, change) => {
      company = await gateway.company()
      const answers = await Promise.all(
        TEXTS.flatMap(text => [
          send(gateway, company, mail(change(text)), { 'idempotency-key': 'k' }),
          send(gateway, neighbour),
        ]),
      )
      for (const [index, answer] of answers.entries()) {
        if (index % 2) expect(answer.status).toBe(202)
        else {
          expect([answer.status, answer.body.code]).toEqual([422, expect.stringMatching(/^INVALID_/)])
          expect(answer.body.errors.map((error: Json) => error.path)).toContain(path)
        }
      }
      expect(await keptOf(gateway, company.companyId)).toEqual(NOTHING_KEPT)
    },
  )

  test.each(TEXTS)('in the name of a header or variable are refused', async text => {
    company = await gateway.company()
    for (const change of [{ headers: { [`X-${text}`]: 'x' } }, { variables: { [text]: 1 } }, { [text]: 1 }]) {
      const answer = await send(gateway, company, mail(change))
      expect([answer.status, answer.body.code]).toEqual([422, 'INVALID_PAYLOAD'])
      expect(answer.body.errors[0].path).toMatch(/^(headers|variables)?/)
    }
    expect(await keptOf(gateway, company.companyId)).toEqual(NOTHING_KEPT)
  })

  test('in a batch are refused by their place', async () => {
    company = await gateway.company()
    const answer = await gateway.call(company, 'POST', '/v1/email/batch', [mail(), mail({ subject: 'a\0' })])
    expect([answer.status, answer.body.errors[0].path]).toEqual([422, '[1].subject'])
    expect(await keptOf(gateway, company.companyId)).toEqual(NOTHING_KEPT)
  })

  test('as bytes that are no UTF-8 are no failure of ours', async () => {
    company = await gateway.company()
    for (const bytes of [[0xff, 0xfe], [0xc3], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80]]) {
      const [before, after] = JSON.stringify(mail({ subject: 'SUBJECT' })).split('SUBJECT')
      const answer = await post(
        '/v1/email/send',
        Buffer.concat([Buffer.from(`${before}x`), Buffer.from(bytes), Buffer.from(after!)]),
      )
      expect(answer.status).toBeLessThan(500)
    }
  })
})

describe('HTML that is made to be slow', () => {
  const SLOW: [string, string][] = [
    ['100 000 nested <div>', '<div>'.repeat(100_000)],
    ['nested tables', '<table><tr><td>'.repeat(30_000)],
    ['formatting that is reopened', `${many(250, index => `<b id=${index}>`).join('')}${'<p>x'.repeat(100_000)}`],
    ['nested links', '<a href="https://a.example">'.repeat(18_000)],
    ['attributes without end', `<p ${many(60_000, index => `a${index}`).join(' ')}>`],
    ['conditional comments', '<!--[if a]>'.repeat(45_000)],
    ['comments', '<!---->'.repeat(70_000)],
    ['open tags', '<p'.repeat(250_000)],
    ['entities', '&amp'.repeat(125_000)],
    ['styles', `<p style="${'a:b;'.repeat(100_000)}">`],
    ['nested svg', '<svg><foreignObject>'.repeat(25_000)],
    ['nested templates', '<template>'.repeat(50_000)],
    ['nested selects', '<select><option>'.repeat(30_000)],
    ['half a million brackets', '<'.repeat(512 * KB)],
  ]

  test.each(SLOW)('%s: it is decided within seconds, and others are served meanwhile', async (_name, html) => {
    company = await gateway.company()
    const attack = () => Promise.all(many(3, () => send(gateway, company, mail({ html: html.slice(0, 512 * KB) }))))
    const { result, worstMs, tookMs } = await besideNeighbours(attack)
    for (const answer of result) {
      if (answer.status === 202) continue
      expect([answer.status, answer.body.code, answer.body.errors[0].path]).toEqual([422, 'INVALID_TEMPLATE', 'html'])
    }
    expect(tookMs).toBeLessThan(15_000)
    expect(worstMs).toBeLessThan(HELD_UP_MS)
  })

  test('100 000 nested <div> are refused', async () => {
    company = await gateway.company()
    const answer = await send(gateway, company, mail({ html: SLOW[0]![1] }))
    expect([answer.status, answer.body.code, answer.body.errors[0].path]).toEqual([422, 'INVALID_TEMPLATE', 'html'])
    expect(await keptOf(gateway, company.companyId)).toEqual(NOTHING_KEPT)
  })

  test('and passes the rules is sent without holding up the others', async () => {
    company = await gateway.company()
    for (const html of [
      '<br>'.repeat(99_000),
      '<a href="https://a.example/x">y</a>'.repeat(14_000),
      'é '.repeat(170_000),
    ]) {
      const { worstMs } = await besideNeighbours(async () => {
        const ids = await Promise.all(many(3, () => sendOk(gateway, company, { html })))
        for (const id of ids) await untilStatus(gateway, company, id, 'SENT')
      })
      expect(worstMs).toBeLessThan(HELD_UP_MS)
    }
  })
})

describe('a body with millions of values', () => {
  const list = (count: number, item = '""') => `[${new Array(count).fill(item).join(',')}]`
  const with_ = (json: string) => JSON.stringify(mail()).replace(/}$/, `,${json}}`)
  const object = (count: number, value: string) => `{${many(count, index => `"k${index}":${value}`).join(',')}}`

  test.each<[string, string, () => string]>([
    ['five million empty texts', '/v1/email/send', () => list(5_000_000)],
    ['five million empty texts as batch', '/v1/email/batch', () => list(5_000_000)],
    ['a million empty lists', '/v1/email/send', () => with_(`"tags":${list(1_000_000, '[]')}`)],
    ['two million cc', '/v1/email/send', () => with_(`"cc":${list(2_000_000)}`)],
    ['200 000 unknown fields', '/v1/email/send', () => with_(object(200_000, '1').slice(1, -1))],
    ['200 000 headers', '/v1/email/send', () => with_(`"headers":${object(200_000, '1')}`)],
    ['500 000 variables', '/v1/email/send', () => with_(`"template":"x","variables":${object(500_000, '1')}`)],
    ['100 members with 2000 wrong cc each', '/v1/email/batch', () => list(100, with_(`"cc":${list(2_000)}`))],
    [
      '100 members with 2000 unknown fields each',
      '/v1/email/batch',
      () => list(100, with_(object(2_000, '1').slice(1, -1))),
    ],
  ])('such as %s is refused in few words, and others are served meanwhile', async (_name, path, make) => {
    company = await gateway.company()
    const body = make()
    const { result, worstMs } = await besideNeighbours(() => post(path, body))
    expect([400, 413, 422]).toContain(result.status)
    expect({ answerKB: Math.ceil(result.text.length / KB), worstMs }).toEqual({
      answerKB: expect.toSatisfy((size: number) => size <= 100),
      worstMs: expect.toSatisfy((time: number) => time < HELD_UP_MS),
    })
    expect(await keptOf(gateway, company.companyId)).toEqual(NOTHING_KEPT)
  })
})

/** ../shared/corpus/html.json */
const CORPUS: { reject: Record<string, string>; accept: Record<string, string> } = {
  reject: {
    'entity scheme': '<a href="&#106;avascript:alert(1)">x</a>',
    'tab in scheme': '<a href="java\tscript:alert(1)">x</a>',
    'newline entity': '<a href="java&NewLine;script:alert(1)">x</a>',
    '&Tab;': '<a href="java&Tab;script&colon;alert(1)">x</a>',
    'unclosed script': '<p>hi<script src=//evil/x.js>',
    'script slash': '<script/x>alert(1)</script/x>',
    'unquoted handler after slash': '<img/src="x"/onerror=alert(1)>',
    'handler no space after quote': '<img src="x"onerror="alert(1)">',
    'svg onload slash': '<svg/onload=alert(1)>',
    'data html': '<iframe src="data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg=="></iframe>',
    vbscript: '<a href="vbscript:msgbox(1)">x</a>',
    'base href': '<base href="https://evil.example/">',
    'object data': '<object data="https://evil.example/x.swf"></object>',
    'iframe srcdoc': '<iframe srcdoc="&lt;script&gt;alert(1)&lt;/script&gt;"></iframe>',
    'style url': '<div style="background:url(&#x6a;avascript:alert(1))">x</div>',
  },
  accept: {
    'text onclick=': '<p>Use o atributo onclick="..." no botão</p>',
    'text javascript:': '<p>O esquema javascript: é proibido</p>',
    'escaped script': '<code>&lt;script&gt;alert(1)&lt;/script&gt;</code>',
    'attr value text': '<img alt="foto onload=agora" src="https://x/y.png">',
    description: '<p>Promotion=10% seasON=2</p>',
    'mso comment': '<!--[if mso]><table><tr><td><![endif]-->',
    'mailto tel': '<a href="mailto:a@b.c">m</a><a href="tel:+55119">t</a>',
  },
}
/** Small enough to be checked at once, and large enough to be checked in the thread. */
const SIZES: [string, (html: string) => string][] = [
  ['small', html => html],
  ['large', html => `${'<p>x</p>'.repeat(3_000)}${html}`],
]

describe.each(SIZES)('the corpus, %s', (_size, sized) => {
  test.each(Object.entries(CORPUS.reject))('is refused: %s', async (_name, html) => {
    company = await gateway.company()
    const answer = await send(gateway, company, mail({ html: sized(html) }), { 'idempotency-key': 'k' })
    expect([answer.status, answer.body.code, answer.body.errors[0].path]).toEqual([422, 'INVALID_TEMPLATE', 'html'])
    expect(await keptOf(gateway, company.companyId)).toEqual(NOTHING_KEPT)
  })

  test.each(Object.entries(CORPUS.accept))('is accepted and sent as it is: %s', async (_name, html) => {
    company = await gateway.company()
    const outboxId = await sendOk(gateway, company, { html: sized(html) })
    await untilStatus(gateway, company, outboxId, 'SENT')
    expect((await captured(gateway, outboxId)).html).toBe(sized(html))
  })
})

describe('what is not a JSON body', () => {
  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'application/jsonp',
    'application/json-patch+json',
    'json',
    '*/*',
  ])('of type %s is refused with 415', async type => {
    company = await gateway.company()
    const answer = await send(gateway, company, JSON.stringify(mail()), { 'content-type': type })
    expect([answer.status, answer.body?.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
    expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/)
    expect(await keptOf(gateway, company.companyId)).toEqual(NOTHING_KEPT)
  })

  test.each(['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset="UTF-8"'])(
    'but %s is JSON',
    async type => {
      company = await gateway.company()
      expect((await send(gateway, company, JSON.stringify(mail()), { 'content-type': type })).status).toBe(202)
    },
  )

  test('with a charset other than UTF-8 is refused, and so is what is compressed', async () => {
    company = await gateway.company()
    const refusalOf = async (headers: Record<string, string>) => {
      const answer = await post('/v1/email/send', JSON.stringify(mail()), headers)
      return [answer.status, answer.body.code, answer.body.message]
    }
    expect(await refusalOf({ 'content-type': 'application/json; charset="ISO-8859-1"' })).toEqual([
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be UTF-8: the charset "ISO-8859-1" of Content-Type is not supported.',
    ])
    expect(await refusalOf({ 'content-encoding': 'gzip' })).toEqual([
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must not be compressed: Content-Encoding "gzip" is not supported.',
    ])
    expect(await keptOf(gateway, company.companyId)).toEqual(NOTHING_KEPT)
  })

  test('with bytes that are not UTF-8 is refused instead of sent with other letters', async () => {
    company = await gateway.company()
    const body = Buffer.from(JSON.stringify(mail({ subject: 'Olá' })), 'latin1')
    for (const path of ['/v1/email/send', '/v1/email/batch', '/emails']) {
      const answer = await post(path, body)
      expect([answer.status, answer.body.message]).toEqual([400, 'The body is not valid UTF-8.'])
    }
    expect(await keptOf(gateway, company.companyId)).toEqual(NOTHING_KEPT)
  })

  test.each([
    '{',
    '[',
    '{"to":}',
    "{'to':'a'}",
    '{"to":"a",}',
    '{} {}',
    'undefined',
    'NaN',
    '{"to":NaN}',
    '// {}',
    '<xml/>',
    'to=a',
    '\u0000',
    '"\ud800',
    '{"a":"\n"}',
    '{"a":01}',
  ])('such as %j is refused with 400', async body => {
    company = await gateway.company()
    for (const path of ['send', 'batch']) {
      const answer = await gateway.call(company, 'POST', `/v1/email/${path}`, body)
      expect([answer.status, answer.body.code]).toEqual([400, 'INVALID_JSON'])
    }
    expect(await keptOf(gateway, company.companyId)).toEqual(NOTHING_KEPT)
  })

  test.each([
    ['nothing', ''],
    ['spaces', '   '],
    ['an object of nothing', '{}'],
  ])('such as %s is refused', async (_name, body) => {
    company = await gateway.company()
    for (const path of ['send', 'batch']) {
      const answer = await gateway.call(company, 'POST', `/v1/email/${path}`, body)
      expect([400, 422]).toContain(answer.status)
      expect(answer.body.code).toMatch(/^INVALID_/)
    }
  })

  test('such as no body and no type is refused', async () => {
    company = await gateway.company()
    for (const path of ['send', 'batch']) {
      const answer = await gateway.call(company, 'POST', `/v1/email/${path}`)
      expect([400, 415, 422]).toContain(answer.status)
    }
  })
})

describe('a body over the limit is refused with 413:', () => {
  const large = (bytes: number) => Buffer.alloc(bytes, 0x20)

  test.each<[string, string, number, Record<string, string | number>, string]>([
    ['a send of 17 MB', '/v1/email/send', 17 * MB, {}, '16 MB'],
    ['a send of 17 MB in chunks', '/v1/email/send', 17 * MB, { 'transfer-encoding': 'chunked' }, '16 MB'],
    ['a batch of 33 MB', '/v1/email/batch', 33 * MB, {}, '32 MB'],
    ['a batch of 33 MB in chunks', '/v1/email/batch', 33 * MB, { 'transfer-encoding': 'chunked' }, '32 MB'],
    ['a cancel with 65 KB', '/v1/email/0190a0b0-0000-7000-8000-000000000000/cancel', 65 * KB, {}, '64 KB'],
  ])('%s', async (_name, path, bytes, headers, limit) => {
    company = await gateway.company()
    const answer = await post(path, large(bytes), headers)
    expect([answer.status, answer.body.code]).toEqual([413, 'BODY_TOO_LARGE'])
    expect(answer.body.message).toBe(`The body is too large: it may have at most ${limit}`)
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(await keptOf(gateway, company.companyId)).toEqual(NOTHING_KEPT)
    await sendOk(gateway, company)
  })

  test('before it is sent, when its length is known', async () => {
    company = await gateway.company()
    const answer = await new Promise<number>((resolve, reject) => {
      const sending = request(`${gateway.url}/v1/email/send`, {
        method: 'POST',
        headers: { 'x-api-key': company.apiKey, 'content-type': 'application/json', 'content-length': 20 * MB },
      })
      sending.on('response', response => {
        resolve(response.statusCode!)
        sending.destroy()
      })
      sending.on('error', reject)
      sending.flushHeaders()
    })
    expect(answer).toBe(413)
  })
})

describe('text of every kind is kept letter for letter', () => {
  const TEXTS = [
    "Robert'); DROP TABLE email_outbox; --",
    "' or '1'='1",
    '"; select pg_sleep(10); --',
    "\\'; \\\\ $1 $2 :name ?",
    '$$ body $$ %s %d %n {0}',
    '{{constructor.constructor("return process")()}}',
    '\u0024{process.env.HASH_PEPPER} #{7*7} <%= 7*7 %> {% if %}',
    '../../etc/passwd',
    '%00%0d%0aBcc:%20x',
    '\\u0000 \\n \\r\\n',
    'null',
    '{"$gt":""}',
    '{1,2,"NULL"}',
    'NULL',
    '=cmd|calc!A1',
    '<b>not markup</b> &amp; "quoted" \'too\'',
    '🎉 Olá, você ganhou! 👩‍💻🏴󠁧󠁢󠁥󠁮󠁧󠁿🇧🇷',
    'مرحبا بك في المتجر',
    'שלום עולם',
    'ภาษาไทย 日本語 한국어 中文',
    'e\u0301 is not é, ﬁ is not fi, K is not K',
    '𝒳𝓎𝓏 𐍈 🀄',
    ' surrounded by spaces ',
    '😀'.repeat(150),
  ]

  test.each(TEXTS)('%j', async text => {
    company = await gateway.company()
    const outboxId = await sendOk(gateway, company, {
      subject: text,
      text,
      html: undefined,
      tags: [text.slice(0, 30).toWellFormed()],
      externalId: text,
      recipient: { externalId: text, nome: text, razaoSocial: text },
      attachments: [{ filename: text.replace(/[/\\]/g, '_'), content: 'AAAA' }],
    })
    const email = await untilStatus(gateway, company, outboxId, 'SENT')
    expect(email).toMatchObject({ subject: text, externalId: text, tags: [text.slice(0, 30).toWellFormed()] })
    expect(await captured(gateway, outboxId)).toMatchObject({ subject: text, text })
    expect(
      await rows(gateway, 'select external_id, nome, razao_social from recipients where company_id = $1', [
        company.companyId,
      ]),
    ).toEqual([{ external_id: text, nome: text, razao_social: text }])
    const { body } = await gateway.call(company, 'GET', `/v1/emails?tag=${encodeURIComponent(email.tags[0])}`)
    expect(body.data.map((one: Json) => one.outboxId)).toEqual([outboxId])
  })

  test('and the tables are still there', async () => {
    const [row] = await rows(gateway, 'select count(*)::int from email_outbox')
    expect(row.count).toBeGreaterThan(TEXTS.length)
  })
})

test('500 at once from ten companies get 500 ids, and all of them exist and are sent', async () => {
  const companies = await Promise.all(many(10, () => gateway.company()))
  const answers = await Promise.all(
    many(500, async index => {
      const owner = companies[index % 10]!
      return { owner, outboxId: await sendOk(gateway, owner, { subject: `Number ${index}` }), index }
    }),
  )
  expect(new Set(answers.map(one => one.outboxId)).size).toBe(500)
  const kept = await until(
    () =>
      rows(gateway, 'select outbox_id, company_id, subject, status from email_outbox where outbox_id = any($1)', [
        answers.map(one => one.outboxId),
      ]),
    all => all.every(one => one.status === 'SENT'),
    30_000,
  )
  const byId = new Map(kept.map(one => [one.outbox_id, one]))
  for (const { owner, outboxId, index } of answers) {
    expect(byId.get(outboxId)).toMatchObject({ company_id: owner.companyId, subject: `Number ${index}` })
  }
})
