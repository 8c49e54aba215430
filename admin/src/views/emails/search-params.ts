import { EMAIL_STATUSES, type Status } from '../../components/StatusBadge.tsx'

export const LIST_RANGES = ['24h', '7d', '30d'] as const
type ListRange = (typeof LIST_RANGES)[number]
export const LOOKUPS = ['id', 'recipient', 'externalId', 'messageId'] as const

/** The place in the list, as it is in the URL. An address is never in it: `recipient` is its hash. */
export type EmailSearch = {
  [name in (typeof LOOKUPS)[number]]?: string
} & {
  status?: Exclude<Status, 'SUPPRESSED'>
  company?: string
  tag?: string
  template?: string
  mode?: 'live' | 'test'
  range?: ListRange
  olderThan?: string
  newerThan?: string
}

/** Leaves out what is no filter of ours. */
export function readSearch(given: Record<string, unknown>): EmailSearch {
  const text = (name: string) => {
    const value = given[name]
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
  }
  const oneOf = <T extends string>(name: string, values: readonly T[]) => values.find(value => value === given[name])
  const found: Record<string, string | undefined> = {
    ...Object.fromEntries(LOOKUPS.map(name => [name, text(name)])),
    status: oneOf('status', EMAIL_STATUSES),
    company: text('company'),
    tag: text('tag'),
    template: text('template'),
    mode: oneOf('mode', ['live', 'test']),
    range: oneOf('range', LIST_RANGES),
    olderThan: text('olderThan'),
    newerThan: text('newerThan'),
  }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))
}

export const lookupOf = (search: EmailSearch) => LOOKUPS.find(name => search[name] !== undefined)
export const hasFilters = ({ olderThan: _, newerThan: __, range: ___, ...filters }: EmailSearch) =>
  Object.keys(filters).length > 0
