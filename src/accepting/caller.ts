import type { RetryPolicyName } from '../contracts/retry.ts'
import type { KnownKey } from '../db/companies/api-keys.ts'

/** Who asks: the API key and what its company has configured. */
export type Caller = {
  keyId: string
  companyId: string
  test: boolean
  fromDomains: readonly string[]
  linkSchemes: readonly string[]
  retryPolicy: RetryPolicyName | null
}

export function callerOf({ keyId, companyId, mode, fromDomains, linkSchemes, retryPolicy }: KnownKey): Caller {
  return { keyId, companyId, test: mode === 'test', fromDomains, linkSchemes, retryPolicy }
}
