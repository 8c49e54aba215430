import type { Company } from '../../companies/companies.ts'
import type { KnownKey } from '../../companies/keys.ts'
import type { RetryPolicyName } from '../../settings/retry.ts'

/** Who asks: the API key and what its company has configured. */
export type Caller = {
  keyId: string
  companyId: string
  test: boolean
  fromDomains: readonly string[]
  /** The sender of its e-mails that name none; null: EMAIL_FROM. */
  defaultFrom: string | null
  retryPolicy: RetryPolicyName | null
}

export function callerOf({ keyId, companyId, mode, fromDomains, defaultFrom, retryPolicy }: KnownKey): Caller {
  return { keyId, companyId, test: mode === 'test', fromDomains, defaultFrom, retryPolicy }
}

/** Somebody who acts for a company without a key of it: `by` stands where the key's id would. */
export function callerOfCompany(company: Company, test: boolean, by: string): Caller {
  const { companyId, fromDomains, defaultFrom, retryPolicy } = company
  return { keyId: by, companyId, test, fromDomains, defaultFrom, retryPolicy }
}
