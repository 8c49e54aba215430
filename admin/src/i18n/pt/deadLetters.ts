import type { deadLetters as en } from '../en/deadLetters.ts'
import type { SameKeys } from '../same-keys.ts'

export const deadLetters: SameKeys<typeof en> = {
  title: 'Não entregues',
}
