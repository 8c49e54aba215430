import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ConfigError, loadConfig, readSettings } from './config.ts'
import { settingsSchema } from './settings.ts'

const KEY = 'ab'.repeat(32)
const PEPPER = 'p'.repeat(32)
const URL_OF_A_DATABASE = 'postgres://user:password@localhost:5432/gateway'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'email-gateway-config-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const load = (env: Record<string, string> = {}) => loadConfig({ DATA_DIR: folder, ...env })
const secretsFile = () => join(folder, 'secrets.json')

function errorOf(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as Error).message
  }
  throw new Error('no error was thrown')
}

describe('defaults', () => {
  test('an empty environment is enough, and stays on this machine', () => {
    expect(readSettings({})).toMatchObject({
      HOST: '127.0.0.1',
      PORT: 3000,
      DATA_DIR: '.data',
      EMAIL_PROVIDER: ['capture'],
      WORKER_CONCURRENCY: 10,
      MAX_JOBS_PER_TENANT_BATCH: 3,
      LEASE_SECONDS: 60,
      RETRY_POLICY: 'steps',
      TRUST_PROXY: false,
    })
  })

  test('an empty variable counts as not set, as in a copied .env.example', () => {
    const empty = Object.fromEntries(Object.keys(settingsSchema.shape).map(name => [name, '']))
    expect(readSettings(empty)).toEqual(readSettings({}))
  })

  test('secrets of the example files are refused, each with a sentence that says how to make one', () => {
    const root = join(import.meta.dirname, '../..')
    const files = readdirSync(join(root, 'ops'), { recursive: true, encoding: 'utf8' }).map(file => join('ops', file))
    const given = [...files, 'compose.yaml', '.env.example']
      .filter(file => statSync(join(root, file)).isFile())
      .flatMap(file =>
        [
          ...readFileSync(join(root, file), 'utf8').matchAll(
            /^[ \t]*(ENCRYPTION_KEY|HASH_PEPPER|ADMIN_PASSWORD|METRICS_TOKEN|SNS_RAW_DELIVERY_PASSWORD)[:=] *(.+)$/gm,
          ),
        ].map(([, name, value]) => ({ name: name!, value: value!.replace(/^'(.*)'$/, '$1') })),
      )
      // Compose refuses to start without the variable.
      .filter(({ value }) => !value.startsWith('${'))
    expect(given.map(({ name }) => name).toSorted()).toEqual([
      'ADMIN_PASSWORD',
      'ENCRYPTION_KEY',
      'HASH_PEPPER',
      'METRICS_TOKEN',
    ])
    for (const { name, value } of given)
      expect(errorOf(() => readSettings({ [name]: value }))).toMatch(
        new RegExp(`${name}: is the placeholder of an example file, .*openssl rand -hex 32`),
      )
    expect(readSettings({ ENCRYPTION_KEY: KEY })).toMatchObject({ ENCRYPTION_KEY: KEY })
  })

  test('.env.example lists every setting, and its values are accepted', () => {
    const lines = readFileSync(join(import.meta.dirname, '../../.env.example'), 'utf8').split('\n')
    const example = Object.fromEntries(lines.filter(line => /^[A-Z]/.test(line)).map(line => line.split(/=(.*)/)))
    expect(Object.keys(example).toSorted()).toEqual(Object.keys(settingsSchema.shape).toSorted())
    expect(readSettings(example)).toEqual(readSettings({}))
  })

  test('unknown variables are ignored', () => {
    expect(readSettings({ PATH: '/bin', DEBUG: '1' })).toEqual(readSettings({}))
  })

  test('PUBLIC_URL is taken as it is given', () => {
    expect(load({ PUBLIC_URL: 'https://mail.example.com' }).PUBLIC_URL).toBe('https://mail.example.com')
  })
})

/** One wrong value or more for every setting that can be wrong. */
const WRONG: Record<string, string[]> = {
  PORT: ['http', '-1', '65536', '80.5'],
  DATABASE_URL: ['mysql://localhost/x', 'localhost:5432', 'postgres://'],
  PUBLIC_URL: ['mail.example.com', 'ftp://example.com', 'javascript:alert(1)'],
  LOG_LEVEL: ['loud', 'INFO'],
  LOG_SAMPLE: ['-0.1', '1.1', 'half'],
  ADMIN_USER: ['a:b', 'a b', 'x'.repeat(65)],
  ADMIN_PASSWORD: ['short'],
  ADMIN_SESSION_IDLE_MINUTES: ['0', '43201', 'eight'],
  ADMIN_SESSION_DAYS: ['0', '366', '1.5'],
  ENCRYPTION_KEY: ['ab', 'z'.repeat(64), `${KEY},`, `${KEY},ab`, `${KEY} `],
  HASH_PEPPER: ['short'],
  TRUST_PROXY: ['yes', 'TRUE', '2'],
  WEBHOOK_ALLOW_PRIVATE: ['yes', 'TRUE', '2'],
  METRICS_PORT: ['65536', 'x'],
  METRICS_TOKEN: ['short', 'with a space inside it'],
  OTEL_EXPORTER_OTLP_ENDPOINT: ['collector:4318', 'grpc://collector:4317'],
  OTEL_SERVICE_NAME: ['x'.repeat(101)],
  OTEL_TRACES_SAMPLER: ['always_on', 'TRACEIDRATIO'],
  OTEL_TRACES_SAMPLER_ARG: ['-1', '1.01', '1%'],
  REDIS_URL: ['http://localhost:6379', 'localhost:6379', 'redis://'],
  EMAIL_PROVIDER: ['sendgrid', 'CAPTURE', 'ses,', 'ses,ses', 'capture,ses', 'ses:mars', 'resend:eu-west-1'],
  AWS_ENDPOINT_URL_SESV2: ['localhost:4566', 'ftp://example.com'],
  SES_CONFIGURATION_SET: ['x'.repeat(65)],
  AWS_ENDPOINT_URL_SNS: ['localhost:4566', 'ftp://example.com'],
  SNS_TOPIC_ARNS: ['events', 'arn:aws:sqs:us-east-1:123456789012:events', 'arn:aws:sns:us-east-1:123456789012:events,'],
  LINK_SCHEMES: ['javascript', 'myapp,ms-word', 'my_app', 'myapp,'],
  DNS_SERVERS: ['dns.example.com', '127.0.0.1:', '1.1.1.1;8.8.8.8'],
  SNS_REGIONS: ['mars', 'us-east-1,', 'us-east-1.evil.example'],
  SNS_RAW_DELIVERY_PASSWORD: ['short'],
  RESEND_WEBHOOK_SECRET: [
    'whsec_short',
    'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS',
    'whsec_a b',
  ],
  RETENTION_CONTENT_DAYS: ['1', '-1', '36501', 'month'],
  RETENTION_EVENTS_DAYS: ['1', '2.5', 'month'],
  RETENTION_EMAILS_DAYS: ['1', '36501', 'year'],
  RETENTION_DEAD_LETTERS_DAYS: ['0', '366', 'week'],
  RETENTION_WEBHOOKS_DAYS: ['0', '366', 'week'],
  RETENTION_IDEMPOTENCY_DAYS: ['0', '31', 'day'],
  RETENTION_AUDIT_DAYS: ['-1', '36501', 'ever'],
  RETENTION_PROVIDER_EVENTS_DAYS: ['0', '366', 'week'],
  RESEND_BASE_URL: ['api.resend.com'],
  SMTP_URL: ['http://mail.example.com', 'mail.example.com:25'],
  SMTP_INGRESS_PORT: ['-1', '65536', 'smtp'],
  SMTP_INGRESS_TLS: ['on', 'STARTTLS'],
  SEND_RATE_PER_SECOND: ['0', '-1', 'fast'],
  UNKNOWN_GRACE_SECONDS: ['-1', '86401', 'long'],
  EMAIL_FROM: ['nobody', 'a@b', 'a@example.com, b@example.com', 'X <a@example.com>\r\nBcc: b@example.com'],
  WORKER_CONCURRENCY: ['0', '1001', 'ten', '1.5'],
  MAX_JOBS_PER_TENANT_BATCH: ['0', '101', 'three'],
  LEASE_SECONDS: ['4', '3601', 'minute'],
  RETRY_POLICY: ['never', 'STEPS'],
  SUPPRESSION_TTL_HARD_BOUNCE: ['-1', '36501', 'never'],
  SUPPRESSION_TTL_COMPLAINT: ['-1', '0.5', 'for ever'],
  SUPPRESSION_TTL_MANUAL: ['-1', '36501', 'year'],
  SUPPRESSION_AUTO_BOUNCE_ENABLED: ['yes', 'on'],
  SUPPRESSION_AUTO_COMPLAINT_ENABLED: ['no', 'off'],
  SUPPRESSION_SCOPE: ['tenant', 'GLOBAL'],
}
const FREE_TEXT = ['HOST', 'DATA_DIR', 'AWS_REGION', 'RESEND_API_KEY', 'SNS_CERT_DIR', 'SMTP_TLS_CERT', 'SMTP_TLS_KEY']

describe('a wrong value', () => {
  test.each(Object.entries(WRONG).flatMap(([name, values]) => values.map(value => [name, value] as const)))(
    '%s=%j is refused by name, in one line',
    (name, value) => {
      const message = errorOf(() => readSettings({ [name]: value }))
      expect(message).toMatch(new RegExp(`^Bad setting\\. ${name}: \\S`))
      expect(message).not.toContain('\n')
      expect(message).not.toMatch(/undefined|\[object/)
    },
  )

  test('of a number gives the accepted range', () => {
    expect(errorOf(() => readSettings({ WORKER_CONCURRENCY: 'ten' }))).toBe(
      'Bad setting. WORKER_CONCURRENCY: must be a whole number from 1 to 1000.',
    )
    expect(errorOf(() => readSettings({ SEND_RATE_PER_SECOND: 'fast' }))).toBe(
      'Bad setting. SEND_RATE_PER_SECOND: must be a number above 0, at most 100000.',
    )
  })

  test('every setting is covered here', () => {
    expect([...Object.keys(WRONG), ...FREE_TEXT].toSorted()).toEqual(Object.keys(settingsSchema.shape).toSorted())
  })

  test.each([
    ['ses', 'AWS_REGION'],
    ['resend', 'RESEND_API_KEY'],
    ['smtp', 'SMTP_URL'],
    ['ses:eu-west-1,resend', 'RESEND_API_KEY'],
  ])('EMAIL_PROVIDER=%s without %s is refused by name', (EMAIL_PROVIDER, missing) => {
    expect(errorOf(() => load({ EMAIL_PROVIDER }))).toContain(`${missing} must be set`)
  })

  test.each([
    [{ SMTP_TLS_CERT: 'a.pem' }, 'SMTP_TLS_CERT and SMTP_TLS_KEY must be set together'],
    [{ SMTP_TLS_KEY: 'a.pem' }, 'SMTP_TLS_CERT and SMTP_TLS_KEY must be set together'],
    [{ SMTP_INGRESS_TLS: 'implicit' }, 'SMTP_TLS_CERT and SMTP_TLS_KEY must be set'],
  ])('%j alone is refused', (given, sentence) => {
    expect(errorOf(() => load(given))).toContain(sentence)
  })

  test('a failover order may name regions of SES', () => {
    const { EMAIL_PROVIDER } = load({ EMAIL_PROVIDER: 'ses:us-east-1, ses:eu-west-1' })
    expect(EMAIL_PROVIDER).toEqual(['ses:us-east-1', 'ses:eu-west-1'])
  })

  test('several wrong values are all named', () => {
    const message = errorOf(() => readSettings({ PORT: 'x', LOG_LEVEL: 'x', RETRY_POLICY: 'x' }))
    for (const name of ['PORT', 'LOG_LEVEL', 'RETRY_POLICY']) expect(message).toContain(`${name}: `)
  })

  test('a secret is never repeated in the message', () => {
    const password = 'pa55word'
    expect(errorOf(() => readSettings({ ADMIN_PASSWORD: password, HASH_PEPPER: password }))).not.toContain(password)
    expect(errorOf(() => readSettings({ DATABASE_URL: `mysql://u:${password}@h/d` }))).not.toContain(password)
  })
})

describe('secrets with DATABASE_URL', () => {
  test.each([
    [{}, ['ENCRYPTION_KEY', 'HASH_PEPPER']],
    [{ ENCRYPTION_KEY: KEY }, ['HASH_PEPPER']],
    [{ HASH_PEPPER: PEPPER }, ['ENCRYPTION_KEY']],
  ])('given %j, the missing ones are named', (given, missing) => {
    const message = errorOf(() => load({ DATABASE_URL: URL_OF_A_DATABASE, ...given }))
    for (const name of ['ENCRYPTION_KEY', 'HASH_PEPPER'])
      expect(message.includes(name), name).toBe(missing.includes(name))
    expect(message).not.toContain('password@')
  })

  test('given both, they are used, and no file is made', () => {
    const config = load({
      DATABASE_URL: URL_OF_A_DATABASE,
      ENCRYPTION_KEY: `${KEY},${'00'.repeat(32)}`,
      HASH_PEPPER: PEPPER,
    })
    expect(config).toMatchObject({ encryptionKeys: [KEY, '00'.repeat(32)], hashPepper: PEPPER })
    expect(() => statSync(secretsFile())).toThrow()
  })
})

describe('secrets of the embedded database', () => {
  test('are made once, and are the same at the next start', () => {
    const first = load()
    expect(first.encryptionKeys).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)])
    expect(first.hashPepper).toMatch(/^[0-9a-f]{64}$/)
    expect(load()).toEqual(first)
  })

  test('are readable by the owner only', () => {
    load()
    expect(statSync(secretsFile()).mode & 0o777).toBe(0o600)
  })

  test('are made in a folder that did not exist', () => {
    const config = loadConfig({ DATA_DIR: join(folder, 'a/b') })
    expect(config.dataDir).toBe(join(folder, 'a/b'))
    expect(load().hashPepper).not.toBe(config.hashPepper)
  })

  test('are overridden by the environment, and used again without it', () => {
    const kept = load()
    expect(load({ HASH_PEPPER: PEPPER })).toMatchObject({ hashPepper: PEPPER, encryptionKeys: kept.encryptionKeys })
    expect(load()).toEqual(kept)
  })

  test('are the same for processes that start for the first time at the same moment', {
    timeout: 120_000,
  }, async () => {
    const code = `const { loadConfig } = await import(${JSON.stringify(join(import.meta.dirname, 'config.ts'))})
      await new Promise(resolve => setTimeout(resolve, Number(process.argv[1]) - Date.now()))
      console.log(loadConfig({ DATA_DIR: ${JSON.stringify(folder)} }).hashPepper)`
    const at = String(Date.now() + 1500)
    const start = () =>
      promisify(execFile)(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code, at])
    const peppers = (await Promise.all([start(), start(), start(), start()])).map(one => one.stdout.trim())
    expect(new Set(peppers)).toEqual(new Set([load().hashPepper]))
  })

  test.each([
    ['empty', ''],
    ['cut short', '{"encryptionKey": "ab'],
    ['without a pepper', JSON.stringify({ encryptionKey: KEY })],
    ['no object', 'null'],
    ['with a key that is none', JSON.stringify({ encryptionKey: 'ab', hashPepper: PEPPER })],
  ])('that are %s (a crash while they were written, a bad restore) stop the start by name', (_, text) => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(secretsFile(), text)
    expect(errorOf(() => load())).toContain(secretsFile())
  })

  test('in a folder that cannot be made stop the start by name', () => {
    writeFileSync(join(folder, 'file'), '')
    expect(errorOf(() => loadConfig({ DATA_DIR: join(folder, 'file') }))).toContain('DATA_DIR')
  })
})
