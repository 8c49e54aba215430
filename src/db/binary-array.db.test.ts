import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { boolArray, int2Array, int4Array, int8Array, textArray, uuidArray } from './binary-array.ts'

let client: pg.Client

beforeAll(async () => {
  client = new pg.Client({ connectionString: inject('postgresUrl') })
  await client.connect()
})
afterAll(() => client.end())

const ID = '01a1dea3-a65d-70d4-9a36-c531baa54361'

test.each<[type: string, binary: Buffer, read: unknown[]]>([
  ['smallint', int2Array([0, -1, 32_767, -32_768]), [0, -1, 32_767, -32_768]],
  ['int', int4Array([1, -2_147_483_648, 2_147_483_647]), [1, -2_147_483_648, 2_147_483_647]],
  ['bigint', int8Array([0n, -1n, 2n ** 63n - 1n]), ['0', '-1', '9223372036854775807']],
  ['boolean', boolArray([true, false]), [true, false]],
  ['uuid', uuidArray([ID]), [ID]],
  ['text', textArray(['', 'a,"b"\\{}', null, 'ção 👩‍💻', 'NULL']), ['', 'a,"b"\\{}', null, 'ção 👩‍💻', 'NULL']],
  ['text', textArray([]), []],
  ['uuid', uuidArray([]), []],
])('Postgres reads %s[] as it was meant', async (type, binary, read) => {
  const { rows } = await client.query(`select $1::${type}[] as read`, [binary])
  expect(rows[0].read).toEqual(read)
})

test('what is no UUID is refused with the code that Postgres would give', () => {
  expect(() => uuidArray([ID, 'no-uuid'])).toThrow(expect.objectContaining({ code: '22P02' }))
})
