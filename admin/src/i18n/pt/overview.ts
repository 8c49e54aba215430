import type { overview as en } from '../en/overview.ts'
import type { SameKeys } from '../same-keys.ts'

export const overview: SameKeys<typeof en> = {
  title: 'Visão geral',
}
