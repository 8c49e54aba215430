/** An e-mail that this process holds under a lease. */
export type UnderLease<Email> = {
  outboxId: string
  companyId: string
  leaseId: string
  email: Email
  /** When the claim, or the lease of its job, began. */
  claimedAtMs: number
  /** The provider has answered: the slot is free for another e-mail, though the outcome is still to be written. */
  release: () => void
}

/** Brings claimed e-mails to the worker. It says how many more each company may have in flight; order, retries and state are decided elsewhere. */
export type Lane = {
  start(): void
  /** Stops claiming, and waits for what is in flight. */
  stop(): Promise<void>
}
