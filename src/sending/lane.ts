/** An e-mail that this process holds under a lease. */
export type UnderLease<Content> = {
  outboxId: string
  companyId: string
  leaseId: string
  content: Content
  /** The provider has answered: the hand is free for another, though the outcome is still being written. */
  release: () => void
}

/** Brings claimed e-mails to `work`. Decides nothing about order, retries or state. */
export type Lane = {
  start(): void
  /** Something may be ready. */
  nudge(): void
  /** Takes nothing more, and waits for what is under way. */
  stop(): Promise<void>
}
