import type { webhooks as en } from '../en/webhooks.ts'
import type { SameKeys } from '../same-keys.ts'

export const webhooks: SameKeys<typeof en> = {
  title: 'Webhooks',
}
