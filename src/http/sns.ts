import { createVerify, type KeyObject } from 'node:crypto'
import { z } from 'zod'

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
export type CertificateLocation = { url: string; host: string; region: string; file: string }

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
