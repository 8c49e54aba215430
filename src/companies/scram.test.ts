import { expect, test } from 'vitest'
import { scramVerifier } from './sql-access.ts'

test('the verifier is the one that Postgres stores for the same password and salt', () => {
  // select rolpassword from pg_authid, after: create role r password 'pencil'
  const salt = Buffer.from(SALT, 'base64')
  expect(scramVerifier('pencil', salt)).toBe(STORED)
})

const SALT = 'AyXUpS5NkEt6481HqmJPsg=='
const STORED =
  'SCRAM-SHA-256$4096:AyXUpS5NkEt6481HqmJPsg==$ewRjqRqH4J+JbFWoR7Lw1wNKOlOogqlWkW+lPnibKQA=:czNUNR6IApJ8j40AG8JjGUg5KNb0vT7P8oFdRQcK+Bs='
