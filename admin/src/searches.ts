import { cursors, flag, oneOf, searchOf, shortText, text, textLike } from './lib/search.ts'

/** The search parameters of each view. A filter, a page, a tab and what is open are in the URL, so that a link keeps the place. */

export const RANGES = ['1h', '24h', '7d', '30d'] as const
export type Range = (typeof RANGES)[number]
/** Hours are counted for so long. */
export const LONG_RANGES = ['24h', '7d', '30d'] as const
export type LongRange = (typeof LONG_RANGES)[number]

const RANGE_HOURS: Record<Range, number> = { '1h': 1, '24h': 24, '7d': 168, '30d': 720 }

/** The start of a range such as `24h`, to the minute, so that a query has the same key for a while. */
export function sinceOf(range: Range | undefined, nowMs = Date.now()): string | undefined {
  if (range === undefined) return undefined
  return new Date(Math.floor(nowMs / 60_000) * 60_000 - RANGE_HOURS[range] * 3_600_000).toISOString()
}

const DAY = /^\d{4}-\d\d-\d\d$/

export type OverviewSearch = {
  range?: Range
  company?: string
  /** What the ledger has found since this day is open. */
  ledger?: string
}
export const overviewSearch = searchOf<OverviewSearch>({ range: oneOf(RANGES), company: text, ledger: textLike(DAY) })

export const EMAIL_STATUSES = [
  ...(['PENDING', 'PROCESSING', 'RETRY_SCHEDULED', 'UNKNOWN', 'SENT', 'DELIVERED', 'BOUNCED'] as const),
  ...(['COMPLAINED', 'REJECTED', 'FAILED', 'DLQ', 'EXPIRED', 'CANCELLED'] as const),
]
export const LOOKUPS = ['id', 'recipient', 'externalId', 'messageId'] as const

/** An address is never in a URL, which is kept in too many places: `recipient` is its hash. */
export type EmailSearch = { [name in (typeof LOOKUPS)[number]]?: string } & {
  status?: (typeof EMAIL_STATUSES)[number]
  company?: string
  tag?: string
  template?: string
  mode?: 'live' | 'test'
  range?: LongRange
  olderThan?: string
  newerThan?: string
}
export const emailSearch = searchOf<EmailSearch>({
  ...{ id: text, recipient: text, externalId: text, messageId: text },
  status: oneOf(EMAIL_STATUSES),
  company: text,
  tag: text,
  template: text,
  mode: oneOf(['live', 'test']),
  range: oneOf(LONG_RANGES),
  olderThan: text,
  newerThan: text,
})

export const EMAIL_TABS = ['html', 'text', 'source', 'headers'] as const
export type EmailTab = (typeof EMAIL_TABS)[number]
export const emailTabSearch = searchOf<{ tab?: EmailTab }>({ tab: oneOf(EMAIL_TABS) })

export type DeadLetterSearch = {
  /** The list instead of the groups; a filter by code shows the list, too. */
  list?: boolean
  code?: string
  company?: string
  range?: Range
  cursors?: string[]
  /** The dead letter whose details are open. */
  open?: string
}
export const deadLetterSearch = searchOf<DeadLetterSearch>({
  list: flag,
  code: text,
  company: text,
  range: oneOf(RANGES),
  cursors,
  open: text,
})

export const SUPPRESSION_REASONS = ['HARD_BOUNCE', 'COMPLAINT', 'MANUAL'] as const
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number]
export const SUPPRESSION_LISTS = ['active', 'removed', 'expired'] as const

export type SuppressionSearch = {
  show?: (typeof SUPPRESSION_LISTS)[number]
  reason?: SuppressionReason
  /** The id of a company, or `global`. */
  company?: string
  /** When it was added. */
  range?: Range
  /** The first digits of a hash, never an address. */
  search?: string
  sort?: 'addedAt' | 'expiresAt'
  order?: 'asc' | 'desc'
  cursors?: string[]
  /** The hash whose details are open. */
  open?: string
}
export const suppressionSearch = searchOf<SuppressionSearch>({
  show: oneOf(SUPPRESSION_LISTS),
  reason: oneOf(SUPPRESSION_REASONS),
  company: text,
  range: oneOf(RANGES),
  search: text,
  sort: oneOf(['addedAt', 'expiresAt']),
  order: oneOf(['asc', 'desc']),
  cursors,
  open: text,
})

export const companiesSearch = searchOf<{ q?: string }>({ q: shortText(100) })

export const COMPANY_TABS = [
  ...(['activity', 'fairness', 'keys', 'webhooks', 'templates', 'domains', 'sql-access', 'audit'] as const),
]
export type CompanyTab = (typeof COMPANY_TABS)[number]
export const companySearch = searchOf<{ range?: LongRange; cursors?: string[] }>({
  range: oneOf(LONG_RANGES),
  cursors: value => (cursors(value)?.every(cursor => /^\d{1,15}$/.test(cursor)) ? cursors(value) : undefined),
})

export const templatesSearch = searchOf<{ companyId?: string; q?: string; cursors?: string[] }>({
  companyId: text,
  q: shortText(64),
  cursors,
})
export const templateSearch = searchOf<{ version?: number }>({
  version: value => (Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : undefined),
})

export const WEBHOOK_STATES = ['enabled', 'failing', 'disabled'] as const
export const webhooksSearch = searchOf<{
  companyId?: string
  state?: (typeof WEBHOOK_STATES)[number]
  cursors?: string[]
}>({ companyId: text, state: oneOf(WEBHOOK_STATES), cursors })

export const DELIVERY_STATES = ['waiting', 'delivered', 'failed'] as const
/** `delivery`: the one that is open. */
export const webhookSearch = searchOf<{
  status?: (typeof DELIVERY_STATES)[number]
  cursors?: string[]
  delivery?: string
}>({ status: oneOf(DELIVERY_STATES), cursors, delivery: text })

const INBOX_TABS = ['html', 'text', 'source', 'headers', 'attachments', 'links'] as const
export type InboxTab = (typeof INBOX_TABS)[number]
export const inboxSearch = searchOf<{ search?: string; tab?: InboxTab }>({
  search: shortText(200),
  tab: oneOf(INBOX_TABS),
})

/** `from` and `to` are days, as they are typed. */
export type AuditSearch = {
  performedBy?: string
  /** `any`: the gateway's own changes are shown, too. */
  actor?: string
  action?: string
  subjectType?: string
  subjectId?: string
  company?: string
  from?: string
  to?: string
  olderThan?: string
  newerThan?: string
  /** The entry whose details are shown. */
  open?: string
}
export const auditSearch = searchOf<AuditSearch>({
  ...{ performedBy: text, actor: text, action: text, subjectType: text, subjectId: text, company: text },
  from: textLike(DAY),
  to: textLike(DAY),
  olderThan: text,
  newerThan: text,
  open: text,
})

export const sessionsSearch = searchOf<{ of?: 'everybody' }>({ of: oneOf(['everybody']) })

/** Only a path of this application: a link must not lead to another site after signing in. */
const isPathHere = (to: string) => /^\/(?![/\\])/.test(to) && !to.startsWith('/sign-in')
export const signInSearch = searchOf<{ to?: string; ended?: boolean }>({
  to: value => (typeof value === 'string' && isPathHere(value) ? value : undefined),
  ended: flag,
})
