import type { Draft, DraftAddress, DraftRecipientRecord } from '../../outbox/draft.ts'
import type { SendBody } from '../../outbox/send-body.ts'
import { encrypt, type KeyRing } from '../../platform/encryption.ts'
import { addressKey, formatAddress, type MailAddress } from '../../platform/text/addresses.ts'
import { normaliseDocument } from '../../platform/text/documents.ts'
import { hashDocument, hashEmail } from '../../platform/text/hashing.ts'
import { maxAttempts, type RetryPolicyName } from '../../settings/retry.ts'
import { decideSender, type SenderSettings } from '../../settings/sender.ts'
import type { BodyWithContent } from './accept.ts'
import { guessContentType } from './attachment-types.ts'
import type { Caller } from './caller.ts'

export type DraftDeps = {
  html: { proofOf(html: string): string }
  secrets: { keys: KeyRing; pepper: string }
  settings: { sender: SenderSettings; defaultRetryPolicy: RetryPolicyName }
  clock: { newId: () => string }
}

/** `resend`: the e-mail that this one sends again. */
export type DraftMember<Body = SendBody> = {
  index: number
  body: Body
  resend?: { outboxId: string; template: string | null }
}

/** The request that the e-mail came with. */
type DraftRequest = { caller: Caller; requestId: string; traceparent: string | null }

/** The rows of one e-mail, as the accept statement writes them. */
export function draftEmail(
  { index, body, resend }: DraftMember<BodyWithContent>,
  { caller, requestId, traceparent }: DraftRequest,
  deps: DraftDeps,
): Draft {
  const chosen = body.retryPolicy ?? caller.retryPolicy
  return {
    index,
    outboxId: deps.clock.newId(),
    eventId: deps.clock.newId(),
    companyId: caller.companyId,
    requestId,
    externalId: body.externalId ?? null,
    test: caller.test,
    from: formatAddress(senderOf(body.from, caller, deps.settings.sender)!),
    subject: body.subject,
    template: body.template ?? resend?.template ?? null,
    templateVersion: body.templateVersion ?? null,
    tags: body.tags ?? [],
    priority: body.priority,
    retryPolicy: chosen,
    onUnknown: body.onUnknown,
    maxAttempts: maxAttempts(chosen ?? deps.settings.defaultRetryPolicy),
    delayMs: body.delay || null,
    scheduledAt: body.scheduledAt ?? null,
    html: body.html ?? null,
    htmlProof: body.html === undefined ? null : deps.html.proofOf(body.html),
    text: body.text ?? null,
    replyTo: body.replyTo === undefined ? null : [body.replyTo].flat().map(formatAddress),
    headers: body.headers ?? null,
    variables: null,
    addresses: addressesOf(body),
    recipientRecord: body.recipient ? recipientRecordOf(body, caller, deps) : null,
    attachments: (body.attachments ?? []).map(file => ({
      filename: file.filename,
      contentType: file.contentType ?? guessContentType(file.filename),
      contentId: file.contentId ?? null,
      base64: file.content,
    })),
    resendOf: resend?.outboxId ?? null,
    traceparent,
  }
}

/** Someone named twice gets one copy; `to` wins over cc, cc over bcc. */
function addressesOf(body: SendBody): DraftAddress[] {
  const byAddress = new Map<string, DraftAddress>()
  for (const kind of ['to', 'cc', 'bcc'] as const) {
    for (const address of body[kind] ?? []) {
      if (!byAddress.has(address.normalised)) byAddress.set(address.normalised, draftAddress(kind, address))
    }
  }
  return [...byAddress.values()]
}

function draftAddress(kind: DraftAddress['kind'], { address, displayName, normalised }: MailAddress): DraftAddress {
  const hash = hashEmail(normalised)
  return { kind, address, name: displayName, hash, key: addressKey(hash) }
}

function recipientRecordOf(body: SendBody, { companyId, test }: Caller, deps: DraftDeps): DraftRecipientRecord {
  const { recipientId, externalId, cpfCnpj, cpfCnpjHash, razaoSocial, nome } = body.recipient!
  const documentHash = cpfCnpj ? hashDocument(cpfCnpj, deps.secrets.pepper) : (cpfCnpjHash ?? null)
  const email = body.to[0]!.normalised
  const identity = externalId
    ? `external:${externalId}`
    : documentHash
      ? `document:${documentHash}`
      : `address:${hashEmail(email)}`
  return {
    recipientId: recipientId ?? deps.clock.newId(),
    mustExist: recipientId !== undefined,
    identity: `${test ? 'test:' : ''}${identity}`,
    externalId: externalId ?? null,
    cpfCnpjHash: documentHash,
    cpfCnpjCipher: cpfCnpj
      ? encrypt(normaliseDocument(cpfCnpj), deps.secrets.keys, { companyId, column: 'recipients.cpf_cnpj' }).toString(
          'base64',
        )
      : null,
    razaoSocial: razaoSocial ?? null,
    nome: nome ?? null,
    email,
  }
}

/** null: the company may not send from this address. */
export function senderOf(from: MailAddress | undefined, caller: Caller, settings: SenderSettings): MailAddress | null {
  const { defaultFrom, captureOnly } = settings
  return decideSender(from, {
    fromDomains: caller.fromDomains,
    companyFrom: caller.defaultFrom,
    defaultFrom,
    nothingLeaves: captureOnly || caller.test,
  })
}
