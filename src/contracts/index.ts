export * from './dlq.ts'
export * from './documents.ts'
export type { Behaviour, ErrorCategory, ErrorRow, ErrorRule } from './error-rules.ts'
export * from './errors.ts'
export * from './fairness.ts'
export * from './hashing.ts'
export * from './job.ts'
export * from './masking.ts'
export { NETWORK_ERRORS } from './network-errors.ts'
export {
  classifyProviderError,
  HTTP_STATUS_ERRORS,
  PROVIDER_NAMES,
  type ProviderError,
  type ProviderFailure,
  type ProviderName,
} from './provider-errors.ts'
export { RESEND_ERRORS } from './resend-errors.ts'
export * from './retry.ts'
export { SES_ERRORS } from './ses-errors.ts'
export { SMTP_ENHANCED_STATUSES, SMTP_REPLIES } from './smtp-errors.ts'
export * from './states.ts'
export * from './suppression.ts'
export * from './uuid.ts'
export * from './webhook-events.ts'
