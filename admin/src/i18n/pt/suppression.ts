import type { suppression as en } from '../en/suppression.ts'
import type { SameKeys } from '../same-keys.ts'

export const suppression: SameKeys<typeof en> = {
  title: 'Supressão',
}
