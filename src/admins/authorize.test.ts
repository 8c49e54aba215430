import type { FastifyRequest } from 'fastify'
import { expect, test, vi } from 'vitest'
import type { Queryable } from '../platform/postgres/query.ts'
import { hashPassword } from './administrators.ts'
import { adminAuth } from './authorize.ts'

const requestOf = (ip: string, password: string) =>
  ({
    ip,
    method: 'GET',
    headers: { authorization: `Basic ${btoa(`ana:${password}`)}` },
    log: { warn: () => {} },
    routeOptions: { config: {} },
  }) as unknown as FastifyRequest

test('an administrator can log in while 300 networks of one IPv6 site try passwords', async () => {
  const rows = [{ name: 'ana', passwordHash: await hashPassword('right'), role: 'support' }]
  const db = { query: async () => ({ rows }) } as unknown as Queryable
  const adminSessions = { idleMinutes: 480, days: 7 }
  const { authorize } = adminAuth(db, { publicUrl: undefined, onLoginRefused: () => {}, adminSessions })
  const guesses = Array.from({ length: 300 }, (_, n) =>
    authorize(requestOf(`2001:db8:1:${n.toString(16)}::1`, 'wrong')),
  )
  const ended = Promise.allSettled(guesses)
  const request = requestOf('203.0.113.9', 'right')
  await authorize(request)
  expect([request.admin, request.adminRole]).toEqual(['ana', 'support'])
  await ended
}, 60_000)

test('HTTP Basic follows a changed role and refuses a changed password within seconds', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const row = { name: 'ana', passwordHash: await hashPassword('right'), role: 'support' }
  const db = { query: async () => ({ rows: [row] }) } as unknown as Queryable
  const adminSessions = { idleMinutes: 480, days: 7 }
  const { authorize } = adminAuth(db, { publicUrl: undefined, onLoginRefused: () => {}, adminSessions })
  const request = requestOf('203.0.113.9', 'right')
  await authorize(request)
  expect(request.adminRole).toBe('support')
  row.role = 'viewer'
  vi.advanceTimersByTime(5_000)
  await authorize(request)
  expect(request.adminRole).toBe('viewer')
  row.passwordHash = await hashPassword('another')
  vi.advanceTimersByTime(5_000)
  await expect(authorize(request)).rejects.toMatchObject({ code: 'ADMIN_UNAUTHENTICATED' })
  vi.useRealTimers()
})
