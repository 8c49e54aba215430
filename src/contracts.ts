/** What is published as `email-gateway/contracts`: pure rules and types, no I/O. Nothing inside the gateway imports it. */
export { type DLQEntry, dlqEntrySchema, validateDLQEntry } from './outbox/dlq-entry.ts'
export {
  BULLMQ_QUEUE_NAME,
  EMAIL_JOB_CONFIG,
  type EmailSendJobData,
  type EmailSendJobOptions,
  type EmailSendJobResult,
  emailSendJobDataSchema,
  validateEmailJobData,
} from './outbox/job.ts'
export {
  EMAIL_EVENT_TYPES,
  EMAIL_STATUSES,
  type EmailEventType,
  type EmailStatus,
  isFinal,
  STATUS_TRANSITIONS,
  VALID_TRANSITIONS,
  validateTransition,
} from './outbox/states.ts'
export {
  calculateRoundRobinPriority,
  EMAIL_JOB_FAIRNESS_CONFIG,
  type TenantFairnessMetrics,
} from './platform/fairness.ts'
export { isValidCnpj, isValidCpf, isValidCpfCnpj, normaliseDocument } from './platform/text/documents.ts'
export { hashEmail } from './platform/text/hashing.ts'
export { maskDocument, maskEmail, maskSensitive } from './platform/text/masking.ts'
export { isUuid, uuidv7 } from './platform/text/uuid.ts'
export {
  classifyProviderError,
  HTTP_STATUS_ERRORS,
  type ProviderError,
  type ProviderFailure,
} from './providers/errors/classify.ts'
export { isRetryableError, PERMANENT_ERRORS, RETRYABLE_ERRORS } from './providers/errors/contract.ts'
export { NETWORK_ERRORS } from './providers/errors/network.ts'
export type { Behaviour, ErrorCategory, ErrorRow, ErrorRule } from './providers/errors/rules.ts'
export { RESEND_ERRORS } from './providers/resend/errors.ts'
export { SES_ERRORS } from './providers/ses/errors.ts'
export { SMTP_ENHANCED_STATUSES, SMTP_REPLIES } from './providers/smtp/errors.ts'
export {
  calculateBackoffDelay,
  EMAIL_JOB_RETRY_CONFIG,
  RETRY_POLICIES,
  type RetryPolicy,
  type RetryPolicyName,
} from './settings/retry.ts'
export { PROVIDER_NAMES, type ProviderName } from './settings/settings.ts'
export {
  calculateExpiration,
  SUPPRESSION_REASONS,
  type Suppression,
  type SuppressionReason,
} from './suppression/rules.ts'
export {
  type AnyWebhookType,
  FAILURE_CODES,
  type FailureCode,
  WEBHOOK_EVENT_SCHEMAS,
  WEBHOOK_EVENT_TYPES,
  type WebhookEvent,
  type WebhookEventType,
  webhookEventSchema,
} from './webhooks/events.ts'
