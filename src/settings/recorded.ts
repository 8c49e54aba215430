import type { Settings } from './settings.ts'

/** Settings that a process stores in its row of the database, for `doctor` and other processes: no secrets. */
const RECORDED = [
  'HOST',
  'PORT',
  'EMAIL_PROVIDER',
  'EMAIL_FROM',
  'LINK_SCHEMES',
  'AWS_REGION',
  'SES_CONFIGURATION_SET',
  'SNS_TOPIC_ARNS',
  'SNS_REGIONS',
  'SEND_RATE_PER_SECOND',
  'WORKER_CONCURRENCY',
  'MAX_JOBS_PER_TENANT_BATCH',
  'LEASE_SECONDS',
  'UNKNOWN_GRACE_SECONDS',
  'RETRY_POLICY',
  'SUPPRESSION_SCOPE',
  'WEBHOOK_ALLOW_PRIVATE',
  'SMTP_INGRESS_PORT',
  'SMTP_INGRESS_TLS',
  'METRICS_PORT',
] as const satisfies (keyof Settings)[]

/** Recorded without user, password and query. */
const RECORDED_URLS = [
  'PUBLIC_URL',
  'AWS_ENDPOINT_URL_SESV2',
  'RESEND_BASE_URL',
  'SMTP_URL',
  'REDIS_URL',
] as const satisfies (keyof Settings)[]

export type RecordedSettings = Partial<Pick<Settings, (typeof RECORDED)[number] | (typeof RECORDED_URLS)[number]>> & {
  /** Only whether it is set. */
  RESEND_WEBHOOK_SECRET?: boolean
}

/** An allow list, so that a secret added to the settings later is not recorded. */
export function recordedSettings(settings: Settings): RecordedSettings {
  const urls = RECORDED_URLS.flatMap(name => (settings[name] ? [[name, withoutSecrets(settings[name])]] : []))
  return {
    ...Object.fromEntries(RECORDED.filter(name => settings[name] !== undefined).map(name => [name, settings[name]])),
    ...Object.fromEntries(urls),
    ...(settings.RESEND_WEBHOOK_SECRET && { RESEND_WEBHOOK_SECRET: true }),
  }
}

function withoutSecrets(url: string): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
}
