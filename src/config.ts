import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { parseAddress } from './contracts/addresses.ts'
import { PROVIDER_NAMES } from './contracts/provider-errors/classify.ts'
import { RETRY_POLICY_NAMES } from './contracts/retry.ts'
import { SUPPRESSION_SCOPES, type SuppressionPolicy } from './contracts/suppression/rules.ts'
import { findSecrets, keepSecrets, SecretsError } from './secrets.ts'

/** A setting that is wrong or missing. The message names the variable; there is nothing to debug. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

const wholeNumber = (min: number, max: number) => {
  const error = `must be a whole number from ${min} to ${max}`
  return z.coerce.number({ error }).int({ error }).min(min, { error }).max(max, { error })
}
/** A century at most: beyond, it is 0 that was meant. */
const days = wholeNumber(0, 36_500)
const NO_RATE = 'must be a number above 0, at most 100000'
const rate = z.coerce.number({ error: NO_RATE }).positive({ error: NO_RATE }).max(100_000, { error: NO_RATE })
const flag = z.enum(['true', 'false', '1', '0']).transform(text => text === 'true' || text === '1')
const secret = z.string().min(32, 'must have at least 32 characters; make one with: openssl rand -hex 32')
const encryptionKeys = z.string().regex(/^[0-9a-fA-F]{64}(,[0-9a-fA-F]{64})*$/, {
  error:
    'must be 64 hexadecimal digits (several, comma separated: the first encrypts); make one with: openssl rand -hex 32',
})
/** Not `prefer` and `allow`: they send in the clear whenever somebody on the way says so. */
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full']
const databaseUrl = z
  .string()
  .refine(
    text => /^postgres(ql)?:\/\/\S+$/.test(text) && URL.canParse(text),
    'must look like postgres://user:password@host:5432/database',
  )
  .refine(
    text => !URL.canParse(text) || SSL_MODES.includes(new URL(text).searchParams.get('sslmode') ?? 'disable'),
    `sslmode must be one of ${SSL_MODES.join(', ')}`,
  )
  .refine(
    text => !/[?&]sslmode=verify-ca\b/.test(text) || /[?&]sslrootcert=./.test(text),
    'sslmode=verify-ca needs sslrootcert, the file with the certificate of the authority',
  )
const redisUrl = z
  .string()
  .refine(
    text => /^rediss?:\/\/\S+$/.test(text) && URL.canParse(text),
    'must look like redis://host:6379 or rediss://host:6379',
  )
const webUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https address' })
const smtpUrl = z
  .string()
  .refine(
    text => /^smtps?:\/\/\S+$/.test(text) && URL.canParse(text),
    'must look like smtp://user:password@host:587 or smtps://user:password@host:465',
  )
const PROVIDER_ENTRY = new RegExp(`^(${PROVIDER_NAMES.join('|')}|ses:[a-z]{2}(-[a-z]+)+-\\d)$`)
const providers = z
  .string()
  .transform(text => text.split(',').map(entry => entry.trim()))
  .refine(
    entries => entries.every(entry => PROVIDER_ENTRY.test(entry)) && new Set(entries).size === entries.length,
    `must be one of ${PROVIDER_NAMES.join(', ')}, or a comma list of them in the order of failover (ses:eu-west-1 names a region)`,
  )
  .refine(
    entries => entries.length === 1 || !entries.includes('capture'),
    'must not mix capture with providers that really send',
  )
const listOf = (entry: RegExp, error: string) =>
  z
    .string()
    .transform(text => text.split(',').map(one => one.trim()))
    .refine(entries => entries.every(one => entry.test(one)), error)
const REGION = /^[a-z]{2}(-[a-z]+)+-\d+$/
const topicArns = listOf(
  /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d+:[A-Za-z0-9_-]+(\.fifo)?$/,
  'must be ARNs of SNS topics, comma separated, e.g. arn:aws:sns:us-east-1:123456789012:email-events',
)
const webhookSecrets = listOf(
  /^whsec_(?:[A-Za-z0-9+/]{4}){4,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
  'must be the signing secret of the webhook (whsec_…); several, comma separated, while it is being changed',
)
const sender = z.string().refine(text => parseAddress(text).ok, 'must be an e-mail address, or Name <address>')

/** Every setting, with the reason for its default. `.env.example` is compared with the keys of this object. */
export const settingsSchema = z.object({
  /** Loopback only: a gateway is not put on the network by accident. */
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: wholeNumber(0, 65_535).default(3000),
  /** Embedded database, generated secrets. Ignored parts once DATABASE_URL is given. */
  DATA_DIR: z.string().min(1).default('.data'),
  DATABASE_URL: databaseUrl.optional(),
  /** Claimed work travels through BullMQ on this Redis; without it, it runs where it was claimed. */
  REDIS_URL: redisUrl.optional(),
  /** How the outside reaches us, where that is not the address in the browser; for links only. */
  PUBLIC_URL: webUrl.optional(),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  /** The first administrator; others are added with `email-gateway admin add`. */
  ADMIN_USER: z
    .string()
    .min(1)
    .max(64)
    .regex(/^[^:\s]+$/, 'must not contain a colon or a space')
    .default('admin'),
  ADMIN_PASSWORD: z.string().min(12, 'must have at least 12 characters').optional(),
  /** Made and kept in DATA_DIR when embedded; required with DATABASE_URL, since processes must share them. */
  ENCRYPTION_KEY: encryptionKeys.optional(),
  HASH_PEPPER: secret.optional(),
  /** Believe X-Forwarded-For only when a proxy of ours sets it. */
  TRUST_PROXY: flag.default(false),
  /** capture keeps every e-mail in a local inbox: nothing leaves the machine until asked to. */
  EMAIL_PROVIDER: providers.default(['capture']),
  EMAIL_FROM: sender.default('Email Gateway <gateway@localhost.localdomain>'),
  /** Amazon SES. Credentials come the AWS way: environment, files, roles. */
  AWS_REGION: z.string().min(1).optional(),
  AWS_ENDPOINT_URL_SESV2: webUrl.optional(),
  SES_CONFIGURATION_SET: z.string().min(1).max(64).optional(),
  /** Topics whose messages are taken in at /webhooks/ses. Without any, nobody may report anything. */
  SNS_TOPIC_ARNS: topicArns.optional(),
  /** Regions whose signatures count. Not set: those of the topics. */
  SNS_REGIONS: listOf(REGION, 'must be AWS regions, comma separated, e.g. us-east-1').optional(),
  /** Pinned signing certificates, for networks without egress: nothing is fetched then. */
  SNS_CERT_DIR: z.string().min(1).optional(),
  /** Raw messages have no signature; they count only with this password in the subscription's address. */
  SNS_RAW_DELIVERY_PASSWORD: secret.optional(),
  AWS_ENDPOINT_URL_SNS: webUrl.optional(),
  RESEND_API_KEY: z.string().min(1).optional(),
  RESEND_BASE_URL: webUrl.optional(),
  RESEND_WEBHOOK_SECRET: webhookSecrets.optional(),
  SMTP_URL: smtpUrl.optional(),
  /** Recipients per second over all workers. Not set: what SES says of the account; no limit elsewhere. */
  SEND_RATE_PER_SECOND: rate.optional(),
  /** Attempts running at once in this process. */
  WORKER_CONCURRENCY: wholeNumber(1, 1000).default(10),
  /** Seed 002: nobody is served more than this many in a row while others wait. */
  MAX_JOBS_PER_TENANT_BATCH: wholeNumber(1, 100).default(3),
  /** A living worker renews its leases every third of this; one that hangs longer has lost them. */
  LEASE_SECONDS: wholeNumber(5, 3600).default(60),
  /** How long evidence is waited for when a request left and no answer came. SES events take seconds, rarely minutes. */
  UNKNOWN_GRACE_SECONDS: wholeNumber(0, 86_400).default(120),
  RETRY_POLICY: z.enum(RETRY_POLICY_NAMES).default('steps'),
  /** How long the ids of provider events are remembered. Longer than any provider repeats itself. */
  RETENTION_PROVIDER_EVENTS_DAYS: wholeNumber(1, 365).default(7),
  /** Days on the suppression list, seed 004; 0 is for ever. */
  SUPPRESSION_TTL_HARD_BOUNCE: days.default(90),
  SUPPRESSION_TTL_COMPLAINT: days.default(0),
  SUPPRESSION_TTL_MANUAL: days.default(365),
  /** Off where the provider keeps a list of its own and nobody wants a second one. */
  SUPPRESSION_AUTO_BOUNCE_ENABLED: flag.default(true),
  SUPPRESSION_AUTO_COMPLAINT_ENABLED: flag.default(true),
  /** An address that does not exist does not exist for anybody. */
  SUPPRESSION_SCOPE: z.enum(SUPPRESSION_SCOPES).default('global'),
  /** Companies choose where webhooks go; a gateway must not be talked into calling its own network. */
  WEBHOOK_ALLOW_PRIVATE: flag.default(false),
  /** Metrics name companies and volumes. Not set: whoever reaches the port may read them. */
  METRICS_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{16,256}$/, 'must be 16 to 256 characters without spaces; make one with: openssl rand -hex 32')
    .optional(),
})

export type Settings = z.infer<typeof settingsSchema>
export type Secrets = { encryptionKeys: string[]; hashPepper: string }
/** What a command that neither hashes nor encrypts works with. */
export type ReadingConfig = Settings & { dataDir: string }
export type Config = ReadingConfig & Secrets

/** Reads and checks the environment. An empty variable counts as not set, as in a copied .env.example. */
export function readSettings(env: NodeJS.ProcessEnv = process.env): Settings {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const parsed = settingsSchema.safeParse(given)
  if (parsed.success) return parsed.data
  const sentences = parsed.error.issues.map(issue => `${issue.path.join('.')}: ${issue.message}`)
  throw new ConfigError(`Bad setting. ${sentences.join('. ')}.`)
}

/** `.env` of the working directory becomes part of the environment, whose own variables win. Answers the file. */
export function loadEnvFile(): string | null {
  const file = resolve('.env')
  // A virtual environment of Python is a folder of that name.
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return null
  try {
    process.loadEnvFile(file)
    return file
  } catch (error) {
    throw new ConfigError(`${file} cannot be read (${(error as Error).message}).`)
  }
}

/** Without secrets: a shell that has only the address of the database can look at everything. */
export function loadReadingConfig(env: NodeJS.ProcessEnv = process.env): ReadingConfig {
  const settings = readSettings(env)
  requireProviderSettings(settings)
  return { ...settings, dataDir: resolve(settings.DATA_DIR) }
}

/** `secrets`: whether those of an embedded gateway are made when there are none. Only `start` and `migrate` make something. */
export function loadConfig(env: NodeJS.ProcessEnv = process.env, secrets: 'make' | 'find' = 'make'): Config {
  const config = loadReadingConfig(env)
  if (secrets === 'make' && !config.DATABASE_URL) keepEmbeddedSecrets(config.dataDir)
  const { found, missing } = findGivenSecrets(config)
  if (found) return { ...config, ...found }
  throw new ConfigError(config.DATABASE_URL ? missingSecrets(missing, secrets) : nothingIn(config.dataDir))
}

export function suppressionPolicy(settings: Settings): SuppressionPolicy {
  return {
    ttlDays: {
      HARD_BOUNCE: settings.SUPPRESSION_TTL_HARD_BOUNCE,
      COMPLAINT: settings.SUPPRESSION_TTL_COMPLAINT,
      MANUAL: settings.SUPPRESSION_TTL_MANUAL,
    },
    automatic: {
      HARD_BOUNCE: settings.SUPPRESSION_AUTO_BOUNCE_ENABLED,
      COMPLAINT: settings.SUPPRESSION_AUTO_COMPLAINT_ENABLED,
    },
    scope: settings.SUPPRESSION_SCOPE,
  }
}

/** What others may read of this process's settings: everything that decides where mail goes, and nothing that opens a door. */
const RECORDED = [
  'HOST',
  'PORT',
  'EMAIL_PROVIDER',
  'EMAIL_FROM',
  'AWS_REGION',
  'SES_CONFIGURATION_SET',
  'SNS_TOPIC_ARNS',
  'SNS_REGIONS',
  'SEND_RATE_PER_SECOND',
  'WORKER_CONCURRENCY',
  'MAX_JOBS_PER_TENANT_BATCH',
  'LEASE_SECONDS',
  'UNKNOWN_GRACE_SECONDS',
  'RETRY_POLICY',
  'SUPPRESSION_SCOPE',
  'WEBHOOK_ALLOW_PRIVATE',
] as const satisfies (keyof Settings)[]

/** Of these only where they lead: without user, password and options. */
const RECORDED_URLS = [
  'PUBLIC_URL',
  'AWS_ENDPOINT_URL_SESV2',
  'RESEND_BASE_URL',
  'SMTP_URL',
  'REDIS_URL',
] as const satisfies (keyof Settings)[]

export type RecordedSettings = Partial<Pick<Settings, (typeof RECORDED)[number] | (typeof RECORDED_URLS)[number]>> & {
  /** Only that it is set. */
  RESEND_WEBHOOK_SECRET?: boolean
}

/** A named list, not all but some: a secret that is added to the settings later stays out by itself. */
export function recordedSettings(settings: Settings): RecordedSettings {
  const urls = RECORDED_URLS.flatMap(name => (settings[name] ? [[name, withoutSecrets(settings[name])]] : []))
  return {
    ...Object.fromEntries(RECORDED.filter(name => settings[name] !== undefined).map(name => [name, settings[name]])),
    ...Object.fromEntries(urls),
    ...(settings.RESEND_WEBHOOK_SECRET && { RESEND_WEBHOOK_SECRET: true }),
  }
}

function withoutSecrets(url: string): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
}

/** That later versions of the SDK will ask for Node 22 is for whoever raises its version, not for whoever runs this one. */
export function hushAwsSdk(env: NodeJS.ProcessEnv = process.env): void {
  env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'
}

/** Of a program that is started from here. */
export function childEnvironment(
  more: Record<string, string>,
  env: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv {
  return { ...env, ...more }
}

/** What the chosen providers cannot do without. */
function requireProviderSettings(settings: Settings): void {
  const needed: [entry: string, name: keyof Settings][] = [
    ['ses', 'AWS_REGION'],
    ['resend', 'RESEND_API_KEY'],
    ['smtp', 'SMTP_URL'],
  ]
  for (const [entry, name] of needed) {
    if (settings.EMAIL_PROVIDER.includes(entry) && !settings[name])
      throw new ConfigError(
        `Missing setting. With EMAIL_PROVIDER=${settings.EMAIL_PROVIDER.join(',')}, ${name} must be set.`,
      )
  }
}

/** What the environment says counts; the rest of an embedded gateway is kept in DATA_DIR. Makes nothing. */
export function findGivenSecrets(config: ReadingConfig): { found: Secrets | null; missing: string[] } {
  const kept = config.DATABASE_URL ? null : named(() => findSecrets(config.dataDir))
  const encryptionKey = config.ENCRYPTION_KEY ?? kept?.encryptionKey
  const hashPepper = config.HASH_PEPPER ?? kept?.hashPepper
  if (encryptionKey !== undefined && hashPepper !== undefined)
    return { found: { encryptionKeys: encryptionKey.split(','), hashPepper }, missing: [] }
  const missing = [
    ...(encryptionKey === undefined ? ['ENCRYPTION_KEY'] : []),
    ...(hashPepper === undefined ? ['HASH_PEPPER'] : []),
  ]
  return { found: null, missing }
}

/** Only who may make a database is told how to make secrets: those of an existing one are there already. */
function missingSecrets(missing: string[], secrets: 'make' | 'find'): string {
  const which =
    secrets === 'make'
      ? 'the same for every process; for a new database, make one with: openssl rand -hex 32.'
      : 'to what the running gateway of this database has: others are refused.'
  return `Missing setting. With DATABASE_URL, ${missing.join(' and ')} must be set, ${which}`
}

export const nothingIn = (dataDir: string) =>
  `There is no gateway in ${dataDir} yet: start it (email-gateway start), or run: email-gateway migrate. DATA_DIR and DATABASE_URL name another one.`

const keepEmbeddedSecrets = (dataDir: string) => void named(() => keepSecrets(dataDir))

/** A file that cannot be read or written is a setting that is wrong: DATA_DIR. */
function named<T>(use: () => T): T {
  try {
    return use()
  } catch (error) {
    throw error instanceof SecretsError ? new ConfigError(error.message) : error
  }
}

export const ROLES = ['all', 'api', 'worker'] as const
export type Role = (typeof ROLES)[number]
