import { expect, test } from 'vitest'
import { withoutPassword } from './command.ts'

test.each([
  ['postgres://gateway:se%2Fcret@db:5433/mail', 'postgres://gateway@db:5433/mail', 'se/cret'],
  ['postgres://gateway@db/mail?password=hush&sslmode=require', 'postgres://gateway@db/mail?sslmode=require', 'hush'],
  ['postgres://db/mail', 'postgres://db/mail', undefined],
  ['postgres://u:p@db/mail?sslmode=require&uselibpqcompat=true', 'postgres://u@db/mail?sslmode=require', 'p'],
  ['postgres://db/mail?password=p&options=-c%20jit%3Doff', 'postgres://db/mail?options=-c%20jit%3Doff', 'p'],
  ['postgres:///mail?host=/var/run/postgresql', 'postgres:///mail?host=/var/run/postgresql', undefined],
])('%s is opened without its password among the arguments', (url, address, password) => {
  expect(withoutPassword(url)).toEqual({ address, password })
})
