export const COMPANY_TABS = [
  'activity',
  'fairness',
  'keys',
  'webhooks',
  'templates',
  'domains',
  'sql-access',
  'audit',
] as const
export type CompanyTab = (typeof COMPANY_TABS)[number]
