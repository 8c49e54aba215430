import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { insertCompany } from '../../src/companies/companies.ts'
import { findEmail } from '../../src/emails/emails.ts'
import { findDeadLetter } from '../../src/outbox/dead-letters.ts'
import { type Database, openDatabase } from '../../src/platform/postgres/pool.ts'
import { uuidv7 } from '../../src/platform/text/uuid.ts'
import { type TestCli, testCli } from '../support/cli.ts'
import { makeDead } from '../support/dead.ts'
import { accept, draft, readEmail, type StoredEmail, workOff } from '../support/outbox.ts'
import { atCleanUp, cleanUp } from '../support/process.ts'

afterAll(cleanUp)

const eventOf = ({ events }: StoredEmail, type: string) => events.find(event => event.type === type)!

describe('an error', () => {
  let cli: TestCli
  let db: Database
  let companyId: string

  beforeAll(async () => {
    cli = await testCli()
    await cli.lines('migrate')
    db = openDatabase(cli.url, () => {})
    atCleanUp(() => db.close())
    companyId = uuidv7()
    await insertCompany(db.pool, { companyId, name: 'acme' })
  })

  test("has the gateway's code, with the provider's own beside it, in the API, the events and the dead letter", async () => {
    const [outboxId] = await accept(db.pool, [draft(companyId, { to: 'reject@simulator.test' })])
    await workOff(db.short)
    const both = { errorCode: 'SES_MESSAGE_REJECTED', providerCode: 'MessageRejected' }
    const stored = await readEmail(db.pool, outboxId!)
    expect(eventOf(stored, 'REJECTED').metadata).toMatchObject(both)
    expect(eventOf(stored, 'DLQ_MOVED').metadata).toMatchObject({
      ...{ lastErrorCode: 'SES_MESSAGE_REJECTED', lastProviderCode: 'MessageRejected' },
    })
    expect((await findEmail(db.pool, outboxId!, null))!.lastError).toEqual({
      ...{ code: 'SES_MESSAGE_REJECTED', providerCode: 'MessageRejected', category: 'PERMANENT_ERROR' },
      message: 'Email address is not verified.',
    })
    expect(await findDeadLetter(db.pool, outboxId!)).toMatchObject({
      ...{ lastFailureCode: 'SES_MESSAGE_REJECTED', providerCode: 'MessageRejected' },
      retryHistory: [{ error: 'SES_MESSAGE_REJECTED', providerCode: 'MessageRejected' }],
    })
    for (const code of ['SES_MESSAGE_REJECTED', 'MessageRejected'])
      expect(await cli.lines('dlq', 'list', '--code', code)).toMatch(
        new RegExp(`${outboxId}.* SES_MESSAGE_REJECTED \\(MessageRejected\\) `),
      )
  })

  test('code that does not exist is said to be unknown, with those that are near and those that there are', async () => {
    await makeDead(db.pool, companyId, 2, { code: 'SMTP_MAILBOX_NOT_FOUND' })
    const said = await cli.fails(1, 'dlq', 'replay', '--code', 'SMTP_MAILBOX_NOTFOUND')
    expect(said).toMatch(/^There is no error code "SMTP_MAILBOX_NOTFOUND"; did you mean SMTP_MAILBOX_NOT_FOUND/)
    expect(said).toContain('The dead letters have: SMTP_MAILBOX_NOT_FOUND')
    expect(await cli.fails(1, 'dlq', 'purge', '--code', 'nonsense', '--yes')).toMatch(
      /^There is no error code "nonsense"\./,
    )
  })
})
