import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addressKey, parseBareAddress } from '../../../src/platform/text/addresses.ts'
import { hashEmail } from '../../../src/platform/text/hashing.ts'
import { createTestDatabase } from '../../support/postgres.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let db: pg.Client
beforeAll(async () => {
  database = await createTestDatabase()
  db = new pg.Client({ connectionString: database.url })
  await db.connect()
})
afterAll(async () => {
  await db?.end()
  await database?.drop()
})

/** What an e-mail to this address has in its row: when it comes over HTTP, and when it comes by SQL. */
const byHttp = (text: string) => {
  const parsed = parseBareAddress(text)
  if (!parsed.ok) throw new Error(`${text}: ${parsed.problem.message}`)
  const hash = hashEmail(parsed.value.normalised)
  return { text, address: parsed.value.address, hash, key: addressKey(hash) }
}
async function bySql(texts: string[]) {
  const { rows } = await db.query(
    `select text, address, address_hash(address) as hash, address_key(address_hash(address))::text as key
     from unnest($1::text[]) with ordinality as t(text, nth), envelope_address(text) as address order by nth`,
    [texts],
  )
  return rows
}

const ADDRESSES = [
  'maria@example.com',
  'Maria.Silva+tag@EXAMPLE.Com',
  '  maria@example.com ',
  "o'brien!#$%&*/=?^_`{|}~-@sub.domain.example",
  'MARIA@bücher.example',
  'a@BÜCHER.EXAMPLE',
  'a@bu\u0308cher.example',
  'joão@xn--so-paulo-m2a.example'.replace('joão', 'joao'),
  'a@são-paulo.com.br',
  'a@AÇÃO.com.br',
  'a@例え.テスト',
  'a@例え。テスト',
  'a@пример.рф',
  'a@ПРИМЕР.РФ',
  'a@ελλάδα.example',
  'a@ΕΛΛΆΔΑ.example',
  'a@straße.example',
  'a@مثال.example',
  'a@भारत.example',
  'a@한국.example',
  'a@ｅｘａｍｐｌｅ.com',
  'a@i❤.example',
  'a@😀.example',
]

test('address, hash and search key of SQL are those of HTTP', async () => {
  expect(await bySql(ADDRESSES)).toEqual(ADDRESSES.map(byHttp))
})

test('also for any domain of Latin, Greek, Cyrillic, Hebrew, Devanagari, Hangul or Chinese letters', async () => {
  const ranges = [
    [0x61, 0x7a],
    [0xe0, 0xf6],
    [0x3b1, 0x3c1],
    [0x430, 0x44f],
    [0x410, 0x42f],
    [0x5d0, 0x5ea],
    [0x915, 0x939],
    [0xac00, 0xd7a3],
    [0x4e00, 0x9fa5],
  ] as const
  const label = fc
    .constantFrom(...ranges)
    .chain(([low, high]) => fc.array(fc.integer({ min: low, max: high }), { minLength: 1, maxLength: 12 }))
    .map(codes => String.fromCodePoint(...codes))
  const text = fc.tuple(label, label).map(labels => `Box@${labels.join('.')}.example`)
  const samples = fc.sample(text, 1000).filter(one => parseBareAddress(one).ok)
  expect(samples.length).toBeGreaterThan(900)
  expect(await bySql(samples)).toEqual(samples.map(byHttp))
})

test('what is no address passes through within a bound, for the worker to refuse', async () => {
  const texts = ['', '@', 'a@', 'no at', 'a@b@c', '\u00e9@', `a@${'é'.repeat(5000)}`, `a@${'é.'.repeat(190)}`]
  for (const { text, address } of await bySql(texts)) {
    expect(address.length).toBeLessThan(3000)
    expect(parseBareAddress(address).ok, text).toBe(false)
  }
})
