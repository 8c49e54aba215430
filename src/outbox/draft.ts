import type { BatchError } from '../platform/text/refusal.ts'

export type DraftAddress = {
  kind: 'to' | 'cc' | 'bcc'
  address: string
  name: string | null
  /** Search key (see migrations) and suppression hash of the normalised address. */
  key: string
  hash: string
}

/** The row of the table `recipients` that the e-mail is for. */
export type DraftRecipientRecord = {
  recipientId: string
  /** The caller named an existing recipientId: it must be there, and it must be this address. */
  mustExist: boolean
  /** Begins with `test:` for mail of test keys: their recipients are others than the live ones. */
  identity: string
  externalId: string | null
  cpfCnpjHash: string | null
  cpfCnpjCipher: string | null
  razaoSocial: string | null
  nome: string | null
  email: string
}

type DraftAttachment = { filename: string; contentType: string; contentId: string | null; base64: string }

/** An e-mail that passed every rule which needs no database. A new field also needs a line in accept.ts; a test checks it. */
export type Draft = {
  /** The place of the e-mail in its request. */
  index: number
  outboxId: string
  eventId: string
  companyId: string
  requestId: string
  externalId: string | null
  test: boolean
  from: string
  subject: string | null
  template: string | null
  /** The version of the template that html and text were rendered from. */
  templateVersion: number | null
  tags: string[]
  priority: number
  /** null: neither the company nor the request chose one. */
  retryPolicy: string | null
  onUnknown: string
  maxAttempts: number
  delayMs: number | null
  scheduledAt: string | null
  html: string | null
  /** Keyed hash: shows that this HTML passed the rules. */
  htmlProof: string | null
  text: string | null
  replyTo: string[] | null
  headers: Record<string, string> | null
  variables: Record<string, unknown> | null
  addresses: DraftAddress[]
  recipientRecord: DraftRecipientRecord | null
  attachments: DraftAttachment[]
  /** The e-mail that this one sends again. */
  resendOf: string | null
  /** The span that accepted it; null unless its trace is sampled. */
  traceparent: string | null
}

/** One request: its e-mails are stored, or refused, by one statement. */
export type RequestToStore = {
  drafts: Draft[]
  /** true: all e-mails are accepted, or none. false: each on its own. */
  strict: boolean
  /** days: how long the key stands for the request; one, unless given. */
  idempotency: { key: string; fingerprint: string; days?: number } | null
  /** Refusals of other members of the same batch. Stored with the idempotency key, so that a replay repeats the whole answer. */
  refusedBefore: BatchError[]
}

/** What became of one e-mail of a request. */
export type MemberResult = {
  index: number
  status: 'ACCEPTED' | 'SUPPRESSED' | 'RECIPIENT_NOT_FOUND'
  outboxId: string
  /** Hashes of the addresses that are on the suppression list. */
  suppressed: string[]
}

export type RequestAnswer = {
  requestId: string
  queuedAt: string
  results: MemberResult[]
  refusedBefore: BatchError[]
}

export type StoreOutcome =
  | { kind: 'answered'; replayed: boolean; answer: RequestAnswer }
  | { kind: 'key-used-for-another-body' }
  | { kind: 'key-still-running' }
