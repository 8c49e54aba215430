import pg from 'pg'
import { expect, test } from 'vitest'
import { testCli } from '../support/cli.ts'
import { runCommand } from '../support/process.ts'

test('a company that was paused for its reputation: doctor says so, and it is resumed only with a reason', async () => {
  const cli = await testCli()
  const { companyId } = await cli.json<{ companyId: string }>('company', 'create', 'acme')
  const db = new pg.Client({ connectionString: cli.url })
  await db.connect()
  await db.query(
    `update companies set paused_at = now(), pause_reason = '12 % bounced', paused_by = 'reputation' where company_id = $1`,
    [companyId],
  )
  const env = { ...cli.env, EMAIL_PROVIDER: 'ses,resend', AWS_REGION: 'us-east-1', RESEND_API_KEY: 're_x' }
  const { stdout } = await runCommand(['doctor'], { env })
  expect(stdout).toMatch(
    /warning {2}reputation {2}acme is paused by reputation: 12 % bounced; email-gateway company resume acme/,
  )
  expect(stdout).toMatch(
    /warning {2}events {6}SNS_TOPIC_ARNS is not set: bounces and complaints of Amazon SES are not received; run: email-gateway ses setup/,
  )
  expect(stdout).toMatch(/warning {2}events {6}RESEND_WEBHOOK_SECRET is not set/)
  expect(stdout).toMatch(/ok {7}inbox {7}0 provider events to process\n/)
  expect(await cli.fails(1, 'company', 'pause', 'acme', '--reason', 'Takes the whole queue')).toBe(
    'acme is paused already, for its reputation (12 % bounced).\n',
  )
  expect(await cli.fails(2, 'company', 'resume', 'acme')).toMatch(
    /acme was paused for its reputation \(12 % bounced\): give --reason and state what has changed/,
  )
  expect(await cli.json('company', 'resume', 'acme', '--reason', 'They cleaned their list')).toMatchObject({
    pausedAt: null,
  })
  const { rows } = await db.query('select action, reason, performed_by from audit_log order by id desc limit 1')
  await db.end()
  expect(rows).toEqual([
    { action: 'RESUMED', reason: 'They cleaned their list', performed_by: expect.stringMatching(/^cli:./) },
  ])
})
