import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import type { Queryable } from '../../src/db/query.ts'
import { startTestGateway, type TestGateway } from './gateway.ts'
import { CLEAN_LINE, forgotten } from './line.ts'
import { illegalMoves, watchStatuses } from './moves.ts'

export type CleanLine = { gateway: TestGateway; db: Queryable; companyId: string }

/** One gateway for the file, whose line every test finds empty, and on which none may leave mail that nothing would wake, or move an e-mail as the table does not say. */
export function cleanLine(isMade: (line: CleanLine) => void): void {
  let line: CleanLine

  beforeAll(async () => {
    const gateway = await startTestGateway({ role: 'api' })
    await watchStatuses(gateway.db.short)
    line = { gateway, db: gateway.db.short, companyId: (await gateway.company()).companyId }
    isMade(line)
  })
  afterAll(() => line?.gateway.stop())
  beforeEach(async () => {
    await line.db.query(CLEAN_LINE)
    await line.db.query('truncate moves, written')
  })
  afterEach(async () => {
    expect(await forgotten(line.db), 'e-mails that nothing would ever wake').toEqual([])
    expect(await illegalMoves(line.db), 'moves that STATUS_TRANSITIONS does not have').toEqual([])
  })
}
