import type { emails as en } from '../en/emails.ts'
import type { SameKeys } from '../same-keys.ts'

export const emails: SameKeys<typeof en> = {
  title: 'E-mails',
}
