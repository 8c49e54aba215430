import type { inbox as en } from '../en/inbox.ts'
import type { SameKeys } from '../same-keys.ts'

export const inbox: SameKeys<typeof en> = {
  title: 'Caixa de entrada',
}
