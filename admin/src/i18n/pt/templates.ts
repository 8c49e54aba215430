import type { templates as en } from '../en/templates.ts'
import type { SameKeys } from '../same-keys.ts'

export const templates: SameKeys<typeof en> = {
  title: 'Modelos',
}
