import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import type { Queryable } from '../../src/platform/postgres/query.ts'
import { startTestGateway, type TestGateway } from './gateway.ts'
import { illegalMoves, watchStatuses } from './moves.ts'
import { EMPTY_OUTBOX, forgotten } from './outbox.ts'

export type EmptyOutbox = { gateway: TestGateway; db: Queryable; companyId: string }

/** One gateway for the file, whose outbox every test finds empty. No test may leave mail that nothing would wake, or move an e-mail as the table does not say. */
export function emptyOutbox(isMade: (outbox: EmptyOutbox) => void): void {
  let outbox: EmptyOutbox

  beforeAll(async () => {
    const gateway = await startTestGateway({ role: 'api' })
    await watchStatuses(gateway.db.short)
    outbox = { gateway, db: gateway.db.short, companyId: (await gateway.company()).companyId }
    isMade(outbox)
  })
  afterAll(() => outbox?.gateway.stop())
  beforeEach(async () => {
    await outbox.db.query(EMPTY_OUTBOX)
    await outbox.db.query('truncate moves, written')
  })
  afterEach(async () => {
    expect(await forgotten(outbox.db), 'e-mails that nothing would ever wake').toEqual([])
    expect(await illegalMoves(outbox.db), 'moves that STATUS_TRANSITIONS does not have').toEqual([])
  })
}
