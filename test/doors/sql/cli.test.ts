import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { roleNameOf } from '../../../src/companies/sql-access.ts'
import { cliOn, type TestCli, testCli } from '../../support/cli.ts'
import { cleanUp } from '../../support/process.ts'

type Made = { companyId: string }
type Access = { role: string; password: string; url: string; created: boolean; sql?: string[] }

let cli: TestCli
let company: Made
let owner: pg.Client
beforeAll(async () => {
  cli = await testCli()
  company = await cli.json<Made>(
    'company',
    'create',
    'shop',
    '--from-domains',
    'shop.example',
    '--from',
    'Shop <hi@shop.example>',
  )
  owner = new pg.Client({ connectionString: cli.url })
  await owner.connect()
})
afterAll(async () => {
  await owner.query(`drop role if exists ${roleNameOf(company.companyId)}`)
  await owner.end()
  await cleanUp()
})

const urlOf = ({ role, password }: { role: string; password: string }) => {
  const url = new URL(cli.url)
  Object.assign(url, { username: role, password })
  return url.href
}

/** One statement as this role. */
async function as(access: Access, sql: string) {
  const client = new pg.Client({ connectionString: access.url })
  await client.connect()
  return client.query(sql).finally(() => client.end())
}

describe('company', () => {
  test('has a default sender of one of its domains, and can be the default company', async () => {
    expect(await cli.fails(2, 'company', 'update', 'shop', '--from', 'hi@other.example')).toContain(
      'other.example is not one of its sender domains',
    )
    const changed = await cli.json('company', 'update', 'shop', '--default', '--from', 'news@shop.example')
    expect(changed).toMatchObject({ defaultFrom: 'news@shop.example', isDefault: true })
    for (const domains of ['none', 'other.example'])
      expect(await cli.fails(2, 'company', 'update', 'shop', '--from-domains', domains)).toContain(
        'its default sender news@shop.example would be of none of its domains: give another with --from, or --from none',
      )
    const cleared = await cli.json('company', 'update', 'shop', '--from-domains', 'none', '--from', 'none')
    expect(cleared).toMatchObject({ defaultFrom: null, fromDomains: [] })
    await cli.json('company', 'update', 'shop', '--from-domains', 'shop.example', '--from', 'news@shop.example')
  })

  test('gets a role with a password that works, a new one when asked again, and none after --revoke', async () => {
    const first = await cli.json<Access>('company', 'sql-access', 'shop')
    expect(first).toMatchObject({ role: roleNameOf(company.companyId), created: true })
    const enqueue = `select enqueue_email(null, 'welcome_user', 'a@example.com', '{}') as id`
    expect((await as(first, enqueue)).rows).toHaveLength(1)
    const second = await cli.json<Access>('company', 'sql-access', 'shop')
    await expect(as(first, enqueue)).rejects.toThrow('password authentication failed')
    expect((await as(second, 'select recipient_email from email_queue')).rows).toEqual([
      { recipient_email: 'a@example.com' },
    ])
    expect(await cli.json('company', 'sql-access', 'shop', '--revoke')).toMatchObject({ removed: true })
    await expect(as(second, 'select 1')).rejects.toThrow()
  })

  test('gets the SQL for an administrator where the owner may not create roles', async () => {
    const { rows } = await owner.query('select current_user as name')
    const plain = { role: `plain_${company.companyId.slice(-12)}`, password: 'plain' }
    await owner.query(`create role ${plain.role} login password 'plain' in role "${rows[0].name}"`)
    try {
      const limited = await cliOn(urlOf(plain))
      const printed = await limited.json<Access>('company', 'sql-access', 'shop')
      expect(printed).toMatchObject({
        created: false,
        sql: [expect.stringMatching(/^create role .* password 'SCRAM-/), expect.anything(), expect.anything()],
      })
      expect(JSON.stringify(printed.sql)).not.toContain(printed.password)
      for (const statement of printed.sql!) await owner.query(statement)
      expect((await as(printed, 'select from email_queue')).rowCount).toBe(1)
      expect(await limited.lines('company', 'sql-access', 'shop', '--revoke')).toContain('has no access any more')
      await expect(as(printed, 'select from email_queue')).rejects.toThrow('permission denied')
    } finally {
      await owner.query(`drop role ${plain.role}`)
    }
  })

  test('gets no role while everybody may create functions in the schema of the gateway', async () => {
    await owner.query('grant create on schema public to public')
    expect(await cli.fails(1, 'company', 'sql-access', 'shop')).toContain('revoke create on schema public from public')
    await owner.query('revoke create on schema public from public')
  })
})
