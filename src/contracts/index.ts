export * from './dlq.ts'
export * from './documents.ts'
export * from './fairness.ts'
export * from './hashing.ts'
export * from './job.ts'
export * from './masking.ts'
export {
  classifyProviderError,
  HTTP_STATUS_ERRORS,
  PROVIDER_NAMES,
  type ProviderError,
  type ProviderFailure,
  type ProviderName,
} from './provider-errors/classify.ts'
export * from './provider-errors/contract-errors.ts'
export { NETWORK_ERRORS } from './provider-errors/network.ts'
export { RESEND_ERRORS } from './provider-errors/resend.ts'
export type { Behaviour, ErrorCategory, ErrorRow, ErrorRule } from './provider-errors/rules.ts'
export { SES_ERRORS } from './provider-errors/ses.ts'
export { SMTP_ENHANCED_STATUSES, SMTP_REPLIES } from './provider-errors/smtp.ts'
export * from './retry.ts'
export * from './states.ts'
export * from './suppression/rules.ts'
export * from './uuid.ts'
export * from './webhooks/events.ts'
