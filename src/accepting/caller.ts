import type { RetryPolicyName } from '../contracts/retry.ts'

/** Who asks: the API key and what its company has configured. */
export type Caller = {
  keyId: string
  companyId: string
  test: boolean
  fromDomains: readonly string[]
  /** The sender of its e-mails that name none; null: EMAIL_FROM. */
  defaultFrom: string | null
  linkSchemes: readonly string[]
  retryPolicy: RetryPolicyName | null
}
