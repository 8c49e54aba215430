import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import type { Queryable } from '../../src/db/query.ts'
import { startTestGateway, type TestGateway } from './gateway.ts'
import { CLEAN_LINE, forgotten } from './line.ts'

export type CleanLine = { gateway: TestGateway; db: Queryable; companyId: string }

/** One gateway for the file, whose line every test finds empty, and on which none may leave mail that nothing would wake. */
export function cleanLine(isMade: (line: CleanLine) => void): void {
  let line: CleanLine

  beforeAll(async () => {
    const gateway = await startTestGateway({ role: 'api' })
    line = { gateway, db: gateway.db.hot, companyId: (await gateway.company()).companyId }
    isMade(line)
  })
  afterAll(() => line?.gateway.stop())
  beforeEach(async () => {
    await line.db.query(CLEAN_LINE)
  })
  afterEach(async () => {
    expect(await forgotten(line.db), 'e-mails that nothing would ever wake').toEqual([])
  })
}
