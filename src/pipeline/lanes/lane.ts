import type { EmailToSend } from '../../outbox/load.ts'

/** An e-mail that this process holds under a lease. */
export type UnderLease<Email> = {
  outboxId: string
  companyId: string
  leaseId: string
  email: Email
  /** When the claim, or the lease of its job, began. */
  claimedAtMs: number
  /** It is in flight no more, and another e-mail may be. Called when the provider has answered, before the outcome is written. */
  leaveFlight: () => void
}

/** `email` is null when it has ended, is not due yet, or another worker has it. */
export type ClaimedEmail = UnderLease<EmailToSend | null>

/**
 * Takes claimed e-mails to the attempt and settle steps. It says how many more each company may have in flight; order, retries and
 * state are decided elsewhere.
 */
export type Lane = {
  start(): void
  /** Stops claiming, and waits for what is in flight. */
  stop(): Promise<void>
}
