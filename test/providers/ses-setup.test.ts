import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { CommandFailed } from '../../src/console/command.ts'
import { checkSes, readSesFacts } from '../../src/operations/doctor/ses.ts'
import { planSes, setUpSes, type WantedSes } from '../../src/providers/ses/command-setup.ts'
import { SES_EVENT_TYPES, sesNames } from '../../src/providers/ses/names.ts'
import { readSettings } from '../../src/settings/config.ts'
import { type FakeAws, startFakeAws } from '../support/fake-aws.ts'
import { startTestGateway, type TestGateway, until } from '../support/gateway.ts'
import { runCommand } from '../support/process.ts'
import { SHARED_SECRETS } from '../support/secrets.ts'
import { makeSigner, type Signer } from '../support/sns.ts'

const TOPIC_ARN = 'arn:aws:sns:us-east-1:123456789012:email-gateway-events'
const STEPS = [
  'create-configuration-set',
  'create-topic',
  'allow-publish',
  'accept-topic',
  'create-event-destination',
  'subscribe',
]

let signer: Signer
let aws: FakeAws
let gateway: TestGateway
let opened: Parameters<typeof setUpSes>[0]
let wanted: WantedSes

beforeAll(async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test')
  signer = makeSigner()
  aws = await startFakeAws(signer)
  gateway = await startTestGateway({ env: env() })
  opened = { db: gateway.db, config: { ...readSettings(env()), dataDir: '' } }
})
const env = () => ({
  EMAIL_PROVIDER: 'ses',
  AWS_REGION: 'us-east-1',
  AWS_ENDPOINT_URL_SESV2: aws.url,
  AWS_ENDPOINT_URL_SNS: aws.url,
  SNS_CERT_DIR: signer.directory,
})
afterAll(async () => {
  await gateway?.stop()
  await aws?.close()
  signer?.remove()
  vi.unstubAllEnvs()
})
beforeEach(async () => {
  aws.configurationSets.clear()
  aws.sns.topics.clear()
  aws.denied.clear()
  aws.unverifiedSenders.clear()
  aws.calls.length = 0
  aws.sns.posts.length = 0
  await gateway.db.pool.query('delete from sns_topics')
  wanted = {
    endpoint: `${gateway.url}/webhooks/ses`,
    region: undefined,
    names: sesNames(),
    from: 'shop@example.com',
    waitSeconds: 20,
    trial: true,
  }
})

const setUp = (change: Partial<WantedSes> = {}) => setUpSes(opened, { ...wanted, ...change }, { performedBy: 'test' })
const kinds = ({ json }: { json: unknown }) => (json as { steps: { kind: string }[] }).steps.map(step => step.kind)

describe('ses setup', () => {
  test('makes everything from nothing, sees a message come back, and changes nothing the second time', async () => {
    const planned = await planSes(opened, wanted)
    expect(kinds(planned)).toEqual(STEPS)
    expect(planned.lines[1]).toBe('would create the configuration set email-gateway')
    expect(aws.changes()).toEqual([])

    const first = await setUp()
    expect(first.exitCode, first.lines.join('\n')).toBe(0)
    expect(kinds(first)).toEqual(STEPS)
    expect(first.json).toMatchObject({ changed: true, subscription: 'confirmed', trial: 'received' })
    expect(first.lines.slice(-4)).toEqual([
      'EMAIL_PROVIDER=ses',
      'AWS_REGION=us-east-1',
      'SES_CONFIGURATION_SET=email-gateway',
      `SNS_TOPIC_ARNS=${TOPIC_ARN}`,
    ])
    expect(aws.configurationSets.get('email-gateway')!.get('email-gateway')).toEqual({
      Enabled: true,
      MatchingEventTypes: [...SES_EVENT_TYPES],
      SnsDestination: { TopicArn: TOPIC_ARN },
    })
    const { attributes } = aws.sns.topics.get(TOPIC_ARN)!
    expect(attributes.get('SignatureVersion')).toBe('2')
    // The statement of the owner is still there.
    expect(JSON.parse(attributes.get('Policy')!).Statement).toHaveLength(2)
    const events = await until(
      async () => (await gateway.db.pool.query('select state from provider_events')).rows,
      rows => rows.length === 2 && rows.every(({ state }) => state === 'unmatched'),
    )
    expect(events).toHaveLength(2)
    const { rows } = await gateway.db.pool.query(`select action, subject_id from audit_log where performed_by = 'test'`)
    expect(rows).toEqual([{ action: 'SNS_TOPIC_ACCEPTED', subject_id: TOPIC_ARN }])

    const domains = new Map([['nobody.example', ['acme']]])
    const asked = { entry: 'ses', configurationSet: 'email-gateway', topicArns: [TOPIC_ARN], domains }
    const facts = await readSesFacts({ ...asked, region: 'us-east-1', sesEndpoint: aws.url, snsEndpoint: aws.url })
    expect(checkSes(facts).map(({ name, state }) => `${name} ${state}`)).toEqual([
      'ses ok',
      'ses ok',
      'sns ok',
      'domain failed',
    ])

    aws.calls.length = 0
    const again = ['ses', 'setup', '--url', gateway.url, '--from', 'shop@example.com']
    const credentials = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' }
    const { code, stdout, stderr } = await runCommand(again, {
      env: { ...env(), ...credentials, DATABASE_URL: gateway.databaseUrl, ...SHARED_SECRETS },
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.split('\n').slice(0, 4)).toEqual([
      'Amazon SES in us-east-1, account 123456789012',
      'Nothing was missing, and nothing was changed.',
      `ok: the subscription of ${gateway.url}/webhooks/ses is confirmed`,
      expect.stringMatching(/^ok: the message to success@simulator\.amazonses\.com came back as an event after \d+ s$/),
    ])
    expect(aws.changes()).toEqual([])
  })

  test('completes what was half done, and leaves the rest as it is', async () => {
    const topicArn = 'arn:aws:sns:us-east-1:123456789012:email-gateway-events'
    aws.sns.call('CreateTopic', new URLSearchParams({ Name: 'email-gateway-events' }))
    const other = { Enabled: true, MatchingEventTypes: ['OPEN'] }
    const lacking = { Enabled: true, MatchingEventTypes: ['BOUNCE'], SnsDestination: { TopicArn: topicArn } }
    aws.configurationSets.set('email-gateway', new Map(Object.entries({ other, gateway: lacking })))
    const answer = await setUp()
    expect(answer.exitCode, answer.lines.join('\n')).toBe(0)
    expect(kinds(answer)).toEqual(['allow-publish', 'accept-topic', 'update-event-destination', 'subscribe'])
    const destinations = aws.configurationSets.get('email-gateway')!
    expect([...destinations.keys()]).toEqual(['other', 'gateway'])
    expect(destinations.get('other')).toEqual(other)
    expect(destinations.get('gateway')!.MatchingEventTypes).toEqual([...SES_EVENT_TYPES])
  })

  test('names the permission that is missing, with the policy to copy, and goes on from there later', async () => {
    aws.denied.add('ses:CreateConfigurationSetEventDestination')
    const failed = (await setUp().catch(error => error)) as CommandFailed
    expect(failed).toBeInstanceOf(CommandFailed)
    expect(failed.code).toBe('AWS_PERMISSION_MISSING')
    expect(failed.message).toMatch(
      /^The AWS credentials may not call ses:CreateConfigurationSetEventDestination on arn:aws:ses:us-east-1:123456789012:configuration-set\/email-gateway\.\n/,
    )
    expect(failed.message).toContain('Done before: create the configuration set email-gateway; create the SNS topic')
    const policy = JSON.parse(/^\{[\s\S]*^\}/m.exec(failed.message)![0])
    expect(policy.Statement.flatMap(({ Action }: { Action: string[] }) => Action)).toContain('sns:Subscribe')

    aws.denied.clear()
    aws.denied.add('sns:Subscribe')
    expect((await setUp().catch(error => error)).message).toMatch(/^The AWS credentials may not call sns:Subscribe on /)
    aws.denied.clear()
    expect(kinds(await setUp())).toEqual(['subscribe'])
  })

  test('says that the address cannot be reached, and what to look at', async () => {
    const endpoint = 'http://127.0.0.1:9/webhooks/ses'
    const answer = await setUp({ endpoint, waitSeconds: 1 })
    expect(answer).toMatchObject({ exitCode: 1, json: { subscription: 'pending' } })
    const text = answer.lines.join('\n')
    expect(text).toContain(`NOT CONFIRMED: within 1 s Amazon SNS could not deliver its confirmation to ${endpoint}`)
    expect(text).toMatch(/From this machine, http:\/\/127\.0\.0\.1:9\/health\/live cannot be reached: \S/)
    expect(kinds(await planSes(opened, { ...wanted, endpoint }))).toEqual(['subscribe'])
  })

  test('says so when SES refuses the sender of the trial message, and when no event comes', async () => {
    aws.unverifiedSenders.add('shop@example.com')
    const refused = await setUp()
    expect(refused).toMatchObject({ exitCode: 1, json: { trial: 'refused', subscription: 'confirmed' } })
    expect(refused.lines.join('\n')).toContain('email-gateway domain add')
    expect(await setUp({ trial: false })).toMatchObject({ exitCode: 0, json: { trial: 'skipped' } })

    aws.unverifiedSenders.clear()
    const set = aws.configurationSets.get('email-gateway')!
    const send = { ...set.get('email-gateway')!, SnsDestination: { TopicArn: TOPIC_ARN } }
    set.set('email-gateway', send)
    aws.sns.topics.get(TOPIC_ARN)!.subscriptions[0]!.endpoint = 'http://127.0.0.1:9/webhooks/ses'
    const lost = await setUp({ endpoint: 'http://127.0.0.1:9/webhooks/ses', waitSeconds: 1 })
    expect(lost).toMatchObject({ exitCode: 1, json: { trial: 'missing' } })
  })

  test('says that the credentials are missing', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', undefined)
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
    try {
      const failed = await setUp().catch(error => error)
      expect(failed).toMatchObject({ code: 'AWS_CREDENTIALS', message: expect.stringContaining('AWS_PROFILE') })
    } finally {
      vi.stubEnv('AWS_ACCESS_KEY_ID', 'test')
    }
  })
})
