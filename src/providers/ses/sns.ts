import { createVerify, type KeyObject, X509Certificate } from 'node:crypto'
import { open } from 'node:fs/promises'
import { get } from 'node:https'
import { join } from 'node:path'
import { ConfirmSubscriptionCommand, SNSClient } from '@aws-sdk/client-sns'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { type Author, writeAudit } from '../../audit/audit.ts'
import type { Database } from '../../platform/postgres/pool.ts'
import { inTransaction, type Queryable, sql } from '../../platform/postgres/query.ts'
import { LIMIT_ANSWERS_STEP, limitAnswers } from '../provider.ts'

/** Topics whose messages are accepted, and regions whose signatures are. */
export type SnsRules = { topicArns: readonly string[]; regions: readonly string[] }

/** `reason` is the metric label, `detail` goes into the HTTP answer. `retry`: the message could not be checked now. */
export type SnsRefusal = { reason: string; detail: string; kind: 'malformed' | 'refused' | 'retry' }
export class SnsRefused extends Error {
  override name = 'SnsRefused'
  readonly refusal: SnsRefusal

  constructor(kind: SnsRefusal['kind'], reason: string, detail: string) {
    super(detail)
    this.refusal = { kind, reason, detail }
  }
}

/** Resolves with the key, or throws SnsRefused. */
export type CertificateSource = (location: CertificateLocation) => Promise<KeyObject>
type CertificateLocation = { url: string; host: string; region: string; file: string }

const line = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[^\r\n]*$/, 'must be one line')
const MESSAGE_CHARS = 600_000

export const MESSAGE_ID = /^[\x21-\x7e]{1,200}$/

const messageSchema = z.looseObject({
  Type: z.enum(['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation']),
  MessageId: z.string().regex(MESSAGE_ID, 'must be an id'),
  TopicArn: line(300),
  Subject: z
    .string()
    .max(1000)
    .regex(/^[^\r\n]*$/, 'must be one line')
    .nullish(),
  Message: z.string().max(MESSAGE_CHARS),
  Timestamp: z.iso.datetime(),
  SignatureVersion: z.enum(['1', '2']),
  Signature: z
    .string()
    .max(2000)
    .regex(/^[A-Za-z0-9+/]+={0,2}$/, 'must be base64'),
  SigningCertURL: line(500),
  UnsubscribeURL: line(1000).nullish(),
  SubscribeURL: line(2000).nullish(),
  Token: line(2000).nullish(),
})

export type SnsMessage = z.infer<typeof messageSchema>

/**
 * SNS retries a delivery for at most one hour, with the first Timestamp; 15 minutes more for clock differences. Repeats within that time
 * are recognised by their message id (RETENTION_PROVIDER_EVENTS_DAYS).
 */
const MAX_AGE_MS = 75 * 60_000
const MAX_AHEAD_MS = 15 * 60_000

/** Returns a message that is recent, signed by SNS and of a configured topic; throws SnsRefused otherwise. Cheap checks first. */
export async function verifySnsMessage(
  body: string,
  rules: SnsRules,
  certificates: CertificateSource,
  nowMs: number,
): Promise<SnsMessage> {
  const message = parseMessage(body)
  const region = checkTopic(message, rules)
  checkAge(message, nowMs)
  checkLinks(message, region)
  const key = await certificates(certificateLocation(message.SigningCertURL, region))
  if (!isSignedBy(message, key))
    throw new SnsRefused('refused', 'signature', 'The signature does not match the message.')
  return message
}

function parseMessage(body: string): SnsMessage {
  let json: unknown
  try {
    json = JSON.parse(body)
  } catch {
    throw new SnsRefused('malformed', 'malformed', 'The body is not the JSON of an Amazon SNS message.')
  }
  const parsed = messageSchema.safeParse(json)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const place = issue?.path.join('.') || 'the body'
  throw new SnsRefused('malformed', 'malformed', `Not an Amazon SNS message: ${place}: ${issue?.message}.`)
}

const ARN = /^arn:(aws|aws-cn|aws-us-gov):sns:([a-z0-9-]+):\d+:[A-Za-z0-9_-]+(\.fifo)?$/

export function regionOfArn(arn: string): string | null {
  return ARN.exec(arn)?.[2] ?? null
}

function checkTopic({ TopicArn }: SnsMessage, { topicArns, regions }: SnsRules): string {
  if (!topicArns.includes(TopicArn)) throw new SnsRefused('refused', 'topic', 'The topic is not one of SNS_TOPIC_ARNS.')
  const region = regionOfArn(TopicArn)
  if (!region || !regions.includes(region))
    throw new SnsRefused('refused', 'region', 'The region of the topic is not one of SNS_REGIONS.')
  return region
}

function checkAge({ Timestamp }: SnsMessage, nowMs: number): void {
  const ageMs = nowMs - Date.parse(Timestamp)
  if (ageMs <= MAX_AGE_MS && ageMs >= -MAX_AHEAD_MS) return
  throw new SnsRefused(
    'refused',
    'stale',
    'The message is older than 75 minutes or dated in the future, or the clock of the gateway is wrong.',
  )
}

export const snsHost = (region: string) => `sns.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`

/** Neither link is followed. A message whose links lead elsewhere was not written by SNS. */
function checkLinks({ UnsubscribeURL, SubscribeURL }: SnsMessage, region: string): void {
  for (const link of [UnsubscribeURL, SubscribeURL]) {
    if (link === undefined || link === null) continue
    const url = URL.canParse(link) ? new URL(link) : null
    const isOfSns = url?.protocol === 'https:' && url.host === snsHost(region) && !url.username && !url.password
    if (!isOfSns)
      throw new SnsRefused('refused', 'link', 'A link in the message does not lead to Amazon SNS of its region.')
  }
}

const CERTIFICATE_PATH = /^\/(SimpleNotificationService-[0-9A-Za-z]{1,64}\.pem)$/

/**
 * Compared as text instead of parsed: with a URL parser, user info, ports, escapes or dots could make the checked host differ from the
 * host that is fetched.
 */
export function certificateLocation(url: string, region: string): CertificateLocation {
  const host = snsHost(region)
  const start = `https://${host}`
  const file = url.startsWith(start) ? CERTIFICATE_PATH.exec(url.slice(start.length))?.[1] : undefined
  if (!file)
    throw new SnsRefused(
      'refused',
      'certificate-url',
      `SigningCertURL must be ${start}/SimpleNotificationService-….pem, of the region of the topic.`,
    )
  return { url, host, region, file }
}

const SIGNED_FIELDS = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
  UnsubscribeConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
} as const satisfies Record<SnsMessage['Type'], readonly (keyof SnsMessage)[]>

/** https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html: name and value on a line each, absent fields left out. */
export function signedText(message: Record<string, unknown> & { Type: SnsMessage['Type'] }): string {
  const lines: string[] = []
  for (const field of SIGNED_FIELDS[message.Type]) {
    const value = message[field]
    if (typeof value === 'string') lines.push(field, value)
  }
  return `${lines.join('\n')}\n`
}

function isSignedBy(message: SnsMessage, key: KeyObject): boolean {
  // Base64 has unused bits at its end: only the canonical form is accepted, so that a signature cannot be varied.
  if (Buffer.from(message.Signature, 'base64').toString('base64') !== message.Signature) return false
  const algorithm = message.SignatureVersion === '1' ? 'RSA-SHA1' : 'RSA-SHA256'
  return createVerify(algorithm).update(signedText(message), 'utf8').verify(key, message.Signature, 'base64')
}

const MAX_BYTES = 16 * 1024
const FETCH_MS = 5_000
/** AWS changes its certificate about once a year; one region has one or two. */
const MAX_CACHED = 50
const MAX_REFUSED = 1_000
/** Refusals are cached as well: messages with invented file names must not cause one request to AWS each. */
const REFUSED_MS = 60_000
const UNREACHABLE_MS = 2_000
const MAX_FETCHES = 4

/** null: there is no such certificate. Throws: it could not be loaded now. */
export type Load = (location: CertificateLocation) => Promise<string | null>

type CheckedCertificate = { key: KeyObject; validToMs: number }

/** Caches valid certificates, and for a short time the refusal of others. */
export function certificateSource(load: Load, options: { pinned: boolean; now?: () => number }): CertificateSource {
  const { pinned, now = Date.now } = options
  const valid = new LRUCache<string, CheckedCertificate>({ max: MAX_CACHED })
  const refused = new LRUCache<string, { untilMs: number; refusal: SnsRefused }>({ max: MAX_REFUSED })
  const loading = new Map<string, Promise<KeyObject>>()

  async function loadAndCheck(location: CertificateLocation): Promise<KeyObject> {
    try {
      const pem = await load(location)
      const checked = checkCertificate(pem, location, pinned, now())
      valid.set(location.url, checked)
      return checked.key
    } catch (error) {
      const refusal = error instanceof SnsRefused ? error : unreachable()
      const ms = refusal.refusal.kind === 'retry' ? UNREACHABLE_MS : REFUSED_MS
      refused.set(location.url, { untilMs: now() + ms, refusal })
      throw refusal
    }
  }

  return async function certificateOf(location) {
    const cached = valid.get(location.url)
    if (cached && cached.validToMs > now()) return cached.key
    valid.delete(location.url)
    const refusal = refused.get(location.url)
    if (refusal && refusal.untilMs > now()) throw refusal.refusal
    const started = loading.get(location.url)
    if (started) return started
    if (!pinned && loading.size >= MAX_FETCHES) throw unreachable()
    const pending = loadAndCheck(location).finally(() => loading.delete(location.url))
    loading.set(location.url, pending)
    return pending
  }
}

const unreachable = () =>
  new SnsRefused('retry', 'certificate-unreachable', 'The signing certificate could not be fetched; try again.')

const refuse = (detail: string) => new SnsRefused('refused', 'certificate', detail)

/** A pinned certificate is trusted by its file name; a fetched one must be issued to Amazon SNS. */
function checkCertificate(
  pem: string | null,
  location: CertificateLocation,
  pinned: boolean,
  nowMs: number,
): CheckedCertificate {
  if (pem === null)
    throw refuse(
      pinned ? 'SNS_CERT_DIR has no certificate of this name.' : 'Amazon SNS has no certificate of this name.',
    )
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(pem)
  } catch {
    throw refuse('The signing certificate cannot be read.')
  }
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
  if (!(from <= nowMs && nowMs < to)) throw refuse('The signing certificate is not valid now.')
  if (certificate.publicKey.asymmetricKeyType !== 'rsa') throw refuse('The signing certificate has no RSA key.')
  if (!pinned && !namesOf(location).some(name => certificate.checkHost(name, { subject: 'always' }) !== undefined))
    throw refuse('The signing certificate is not one of Amazon SNS.')
  return { key: certificate.publicKey, validToMs: to }
}

/** The names in the AWS SDK for Java: old regions share one name; GovCloud, China and opt-in regions have their own. */
function namesOf({ region, host }: CertificateLocation): string[] {
  if (region.startsWith('cn-')) return [`sns-${region}.amazonaws.com.cn`, host]
  if (region.startsWith('us-gov-')) return ['sns-us-gov-west-1.amazonaws.com', host]
  return ['sns.amazonaws.com', `sns-signing.${region}.amazonaws.com`, host]
}

/** Reads from SNS_CERT_DIR. `file` has passed CERTIFICATE_PATH in sns.ts: no slash, no `..`. */
export function pinnedCertificates(directory: string): Load {
  return async ({ file }) => {
    const handle = await open(join(directory, file), 'r').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    if (!handle) return null
    try {
      const { bytesRead, buffer } = await handle.read({ buffer: Buffer.alloc(MAX_BYTES), length: MAX_BYTES })
      return buffer.toString('utf8', 0, bytesRead)
    } finally {
      await handle.close()
    }
  }
}

type Get = typeof get

/** One GET without redirects, at most MAX_BYTES and FETCH_MS. */
export function fetchedCertificates(fetchFrom: Get = get): Load {
  return ({ url }) =>
    new Promise((resolve, reject) => {
      const request = fetchFrom(url, { agent: false, signal: AbortSignal.timeout(FETCH_MS) }, response => {
        const { statusCode = 0 } = response
        if (statusCode !== 200) {
          response.destroy()
          if (statusCode >= 500 || statusCode === 429) reject(unreachable())
          else resolve(null)
          return
        }
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          text += chunk
          if (text.length > MAX_BYTES) {
            response.destroy()
            resolve(null)
          }
        })
        response.on('end', () => resolve(text))
        response.on('error', reject)
      })
      request.on('error', reject)
    })
}

const CONFIRM_MS = 10_000

/** The topic must have been checked before. Uses the SDK's credential chain. */
export async function confirmSubscription(
  { topicArn, token, region }: { topicArn: string; token: string; region: string },
  endpoint?: string,
): Promise<void> {
  const client = new SNSClient({ region, maxAttempts: 1, ...(endpoint && { endpoint }) })
  client.middlewareStack.add(limitAnswers, LIMIT_ANSWERS_STEP)
  try {
    // Every SNS message contains an unsubscribe link; with this flag it works only for the owner of the topic.
    const command = new ConfirmSubscriptionCommand({
      TopicArn: topicArn,
      Token: token,
      AuthenticateOnUnsubscribe: 'true',
    })
    await client.send(command, { abortSignal: AbortSignal.timeout(CONFIRM_MS) })
  } finally {
    client.destroy()
  }
}

export async function listTopics(db: Queryable): Promise<string[]> {
  const rows = await sql<{ topicArn: string }>(db, 'list-sns-topics')`
    select topic_arn from sns_topics order by topic_arn`
  return rows.map(({ topicArn }) => topicArn)
}

/** From now on the gateway accepts the topic's messages. */
export async function acceptTopic(pool: Database['pool'], topicArn: string, author: Author): Promise<void> {
  await inTransaction(pool, async tx => {
    const rows = await sql(tx, 'accept-sns-topic')`
      insert into sns_topics (topic_arn) values (${topicArn}) on conflict do nothing returning 1 as one`
    if (rows.length > 0)
      await writeAudit(tx, {
        ...author,
        subjectType: 'sns_topic',
        subjectId: topicArn,
        action: 'SNS_TOPIC_ACCEPTED',
        after: { topicArn },
      })
  })
}

/** Whether an event of this message of Amazon SES has been stored. Its payload is kept, since it belongs to no e-mail. */
export async function hasEventOf(db: Queryable, messageId: string, withinSeconds: number): Promise<boolean> {
  const rows = await sql(db, 'has-event-of')`
    select 1 as one from provider_events
     where provider = 'ses' and received_at > now() - ${withinSeconds} * interval '1 second' and position(${messageId} in payload) > 0 limit 1`
  return rows.length > 0
}
