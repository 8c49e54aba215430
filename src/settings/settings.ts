import { z } from 'zod'
import { parseLinkScheme } from '../platform/html/urls.ts'
import { parseAddress } from '../platform/text/addresses.ts'
import { DEFAULT_RETRY_POLICY, RETRY_POLICY_NAMES } from './retry.ts'

export const PROVIDER_NAMES = ['ses', 'resend', 'smtp', 'capture'] as const
export type ProviderName = (typeof PROVIDER_NAMES)[number]

/** Without it a provider cannot send. */
const NEEDED_SETTINGS = { ses: 'AWS_REGION', resend: 'RESEND_API_KEY', smtp: 'SMTP_URL', capture: null } as const

/** Of an entry of EMAIL_PROVIDER; one such as ses:eu-west-1 needs no setting. */
export function missingSetting(entry: string, settings: Settings): keyof Settings | null {
  const needed = NEEDED_SETTINGS[entry as ProviderName] ?? null
  return needed !== null && !settings[needed] ? needed : null
}

/** global: one list for all companies. company: one list per company, in addition to the administrators' global list. */
export const SUPPRESSION_SCOPES = ['global', 'company'] as const
export type SuppressionScope = (typeof SUPPRESSION_SCOPES)[number]

const wholeNumber = (min: number, max: number) => {
  const error = `must be a whole number from ${min} to ${max}`
  return z.coerce.number({ error }).int({ error }).min(min, { error }).max(max, { error })
}
/** At most a century; 0 means without end. */
const days = wholeNumber(0, 36_500)
/** The ledger counts a day for the last time on the next one at the earliest, and events are counted into statistics before. */
const retention = z.union([z.literal('0').transform(Number), wholeNumber(2, 36_500)], {
  error: 'must be a whole number from 2 to 36500, or 0 for ever',
})
const RATE_ERROR = 'must be a number above 0, at most 100000'
const rate = z.coerce.number({ error: RATE_ERROR }).positive({ error: RATE_ERROR }).max(100_000, { error: RATE_ERROR })
const SHARE_ERROR = 'must be a number from 0 to 1'
const share = z.coerce.number({ error: SHARE_ERROR }).min(0, { error: SHARE_ERROR }).max(1, { error: SHARE_ERROR })
const flag = z.enum(['true', 'false', '1', '0']).transform(text => text === 'true' || text === '1')
/** What the files of ops/ have in the place of secrets: everybody can read it there. */
const PLACEHOLDER = /change-me|^0+$/i
const PLACEHOLDER_ERROR = 'is the placeholder of an example file, which is public; make one with: openssl rand -hex 32'
const isOwn = (text: string) => !PLACEHOLDER.test(text)
const secret = z
  .string()
  .min(32, 'must have at least 32 characters; make one with: openssl rand -hex 32')
  .refine(isOwn, PLACEHOLDER_ERROR)
const encryptionKeys = z
  .string()
  .regex(/^[0-9a-fA-F]{64}(,[0-9a-fA-F]{64})*$/, {
    error:
      'must be 64 hexadecimal digits (several, comma separated: the first encrypts); make one with: openssl rand -hex 32',
  })
  // Whoever has used it can read it with the old one behind a key of his own.
  .refine(text => isOwn(text.split(',')[0]!), PLACEHOLDER_ERROR)
/** Without `prefer` and `allow`: with them, an attacker on the network can turn encryption off. */
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
const DNS_SERVER = /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:]+\])(:\d{1,5})?$/
const topicArns = listOf(
  /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d+:[A-Za-z0-9_-]+(\.fifo)?$/,
  'must be ARNs of SNS topics, comma separated, e.g. arn:aws:sns:us-east-1:123456789012:email-events',
)
const webhookSecrets = listOf(
  /^whsec_(?:[A-Za-z0-9+/]{4}){4,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
  'must be the signing secret of the webhook (whsec_…); several, comma separated, while it is being changed',
)
/** Nobody's address: with a real provider it has to be replaced. */
export const DEFAULT_EMAIL_FROM = 'Email Gateway <gateway@localhost.localdomain>'
const sender = z.string().refine(text => parseAddress(text).ok, 'must be an e-mail address, or Name <address>')
const LINK_SCHEMES_ERROR =
  'must be URL schemes of apps, comma separated, e.g. myapp; those that run code or start programs of the system are refused'
const linkSchemes = z.string().transform((text, context): string[] => {
  const schemes = text.split(',').map(parseLinkScheme)
  if (!schemes.includes(null)) return schemes as string[]
  context.issues.push({ code: 'custom', message: LINK_SCHEMES_ERROR, input: text })
  return z.NEVER
})

/** Every setting, with the reason for its default. A test compares `.env.example` with it. */
export const settingsSchema = z.object({
  /** Loopback only, so that a gateway is not reachable from the network by accident. */
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: wholeNumber(0, 65_535).default(3000),
  /** Data of the embedded database and generated secrets. With DATABASE_URL neither is used. */
  DATA_DIR: z.string().min(1).default('.data'),
  DATABASE_URL: databaseUrl.optional(),
  /** Set: the BullMQ lane, through this Redis. Not set: the direct lane, in the process that claims. */
  REDIS_URL: redisUrl.optional(),
  /** The gateway's address behind a proxy: the server in the OpenAPI document, and the origin that admin requests may come from. */
  PUBLIC_URL: webUrl.optional(),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  /** The share of e-mails and requests whose ordinary lines are logged. Problems are always logged. */
  LOG_SAMPLE: share.default(1),
  /** The first administrator; others are added with `email-gateway admin add`. */
  ADMIN_USER: z
    .string()
    .min(1)
    .max(64)
    .regex(/^[^:\s]+$/, 'must not contain a colon or a space')
    .default('admin'),
  ADMIN_PASSWORD: z.string().min(12, 'must have at least 12 characters').refine(isOwn, PLACEHOLDER_ERROR).optional(),
  /** A session in the admin UI ends when it is not used for this long, and in any case after these days. */
  ADMIN_SESSION_IDLE_MINUTES: wholeNumber(1, 43_200).default(480),
  ADMIN_SESSION_DAYS: wholeNumber(1, 365).default(7),
  /** Generated in DATA_DIR for the embedded database; required with DATABASE_URL, because all processes must have the same. */
  ENCRYPTION_KEY: encryptionKeys.optional(),
  HASH_PEPPER: secret.optional(),
  /** Off, because without a proxy in front clients could set X-Forwarded-For themselves. */
  TRUST_PROXY: flag.default(false),
  /** capture stores every e-mail in a local inbox: nothing is sent until another provider is configured. */
  EMAIL_PROVIDER: providers.default(['capture']),
  EMAIL_FROM: sender.default(DEFAULT_EMAIL_FROM),
  /** Beside those that every e-mail may link to: each is a program that a click starts at the reader. */
  LINK_SCHEMES: linkSchemes.default([]),
  /** Amazon SES. Credentials come from the AWS default chain: environment, files, roles. */
  AWS_REGION: z.string().min(1).optional(),
  AWS_ENDPOINT_URL_SESV2: webUrl.optional(),
  SES_CONFIGURATION_SET: z.string().min(1).max(64).optional(),
  /** Topics whose messages are accepted at /webhooks/ses. Not set: none is accepted. */
  SNS_TOPIC_ARNS: topicArns.optional(),
  /** Regions whose signatures are accepted. Not set: those of the topics. */
  SNS_REGIONS: listOf(REGION, 'must be AWS regions, comma separated, e.g. us-east-1').optional(),
  /** Folder of pinned signing certificates, for networks without egress: none is fetched then. */
  SNS_CERT_DIR: z.string().min(1).optional(),
  /** Raw messages have no signature; they are accepted only with this password in the subscription's URL. */
  SNS_RAW_DELIVERY_PASSWORD: secret.optional(),
  AWS_ENDPOINT_URL_SNS: webUrl.optional(),
  /** Asked about the records of sender domains. Not set: the servers of the system. */
  DNS_SERVERS: listOf(DNS_SERVER, 'must be IP addresses, comma separated, with a port if it is not 53').optional(),
  RESEND_API_KEY: z.string().min(1).optional(),
  RESEND_BASE_URL: webUrl.optional(),
  RESEND_WEBHOOK_SECRET: webhookSecrets.optional(),
  SMTP_URL: smtpUrl.optional(),
  /** Recipients per second over all workers. Not set: the account's send rate with SES, no limit with other providers. */
  SEND_RATE_PER_SECOND: rate.optional(),
  /** Concurrent attempts in this process. */
  WORKER_CONCURRENCY: wholeNumber(1, 1000).default(10),
  /** Most e-mails of one company in a row while other companies have ready e-mails. */
  MAX_JOBS_PER_TENANT_BATCH: wholeNumber(1, 100).default(3),
  /** A worker renews its leases every third of this time; one that hangs longer loses them. */
  LEASE_SECONDS: wholeNumber(5, 3600).default(60),
  /** How long an unknown send waits for a provider event. SES events take seconds, rarely minutes. */
  UNKNOWN_GRACE_SECONDS: wholeNumber(0, 86_400).default(120),
  RETRY_POLICY: z.enum(RETRY_POLICY_NAMES).default(DEFAULT_RETRY_POLICY),
  /** Days; 0 is without end. Mail that is open is always kept. The row of an e-mail takes content and events with it. */
  RETENTION_CONTENT_DAYS: retention.default(30),
  RETENTION_EVENTS_DAYS: retention.default(90),
  RETENTION_EMAILS_DAYS: retention.default(365),
  /** How long a dead letter can be replayed. What is known about the failure stays with the e-mail. */
  RETENTION_DEAD_LETTERS_DAYS: wholeNumber(1, 365).default(7),
  /** How long delivered and failed webhooks can be looked at and replayed. */
  RETENTION_WEBHOOKS_DAYS: wholeNumber(1, 365).default(7),
  /** How long a repeated request is answered and not sent again. */
  RETENTION_IDEMPOTENCY_DAYS: wholeNumber(1, 30).default(1),
  /** Five years, as long as a customer may make claims. */
  RETENTION_AUDIT_DAYS: days.default(1825),
  /** How long provider events are kept to recognise duplicates: longer than any provider retries. */
  RETENTION_PROVIDER_EVENTS_DAYS: wholeNumber(1, 365).default(7),
  /** Days on the suppression list; 0 is without end. */
  SUPPRESSION_TTL_HARD_BOUNCE: days.default(90),
  SUPPRESSION_TTL_COMPLAINT: days.default(0),
  SUPPRESSION_TTL_MANUAL: days.default(365),
  /** Off when the suppression list of the provider is enough. */
  SUPPRESSION_AUTO_BOUNCE_ENABLED: flag.default(true),
  SUPPRESSION_AUTO_COMPLAINT_ENABLED: flag.default(true),
  /** Global by default: an address that does not exist does not exist for any company. */
  SUPPRESSION_SCOPE: z.enum(SUPPRESSION_SCOPES).default('global'),
  /** Companies choose webhook URLs, which must not reach the gateway's own network (SSRF). */
  WEBHOOK_ALLOW_PRIVATE: flag.default(false),
  /** Set: e-mails are also accepted by SMTP, on this port of HOST. */
  SMTP_INGRESS_PORT: wholeNumber(0, 65_535).optional(),
  /** implicit: TLS from the first byte, as on port 465. */
  SMTP_INGRESS_TLS: z.enum(['starttls', 'implicit']).default('starttls'),
  /** Files. Without them only programs of this machine can log in by SMTP. */
  SMTP_TLS_CERT: z.string().min(1).optional(),
  SMTP_TLS_KEY: z.string().min(1).optional(),
  /** Set: this process also serves /metrics and /health on this port of HOST. A worker has no other port. */
  METRICS_PORT: wholeNumber(0, 65_535).optional(),
  /** Metrics contain company ids and volumes. Not set: everybody who reaches the port can read them. */
  METRICS_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{16,256}$/, 'must be 16 to 256 characters without spaces; make one with: openssl rand -hex 32')
    .refine(isOwn, PLACEHOLDER_ERROR)
    .optional(),
  /** Set: spans are exported to this OTLP/HTTP collector. The names are OpenTelemetry's own, and so are the defaults below. */
  OTEL_EXPORTER_OTLP_ENDPOINT: webUrl.optional(),
  OTEL_SERVICE_NAME: z.string().min(1).max(100).default('email-gateway'),
  /** parentbased: a caller that samples its trace is followed; traceidratio: only our own share counts. */
  OTEL_TRACES_SAMPLER: z.enum(['parentbased_traceidratio', 'traceidratio']).default('parentbased_traceidratio'),
  OTEL_TRACES_SAMPLER_ARG: share.default(1),
})

export type Settings = z.infer<typeof settingsSchema>
