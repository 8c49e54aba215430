import type { providers as en } from '../en/providers.ts'
import type { SameKeys } from '../same-keys.ts'

export const providers: SameKeys<typeof en> = {
  title: 'Provedores',
}
