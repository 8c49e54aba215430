import type { audit as en } from '../en/audit.ts'
import type { SameKeys } from '../same-keys.ts'

export const audit: SameKeys<typeof en> = {
  title: 'Auditoria',
}
