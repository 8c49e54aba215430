import { z } from 'zod'

export type ResendTag = { name: string; value: string }

const MAX_TAGS = 50

/** The characters that Resend allows. Neither name nor value contains the colon that joins them. */
const part = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[A-Za-z0-9_-]+$/, 'must be ASCII letters, digits, _ or -')

export const resendTagsSchema = z.array(z.strictObject({ name: part, value: part })).max(MAX_TAGS)

/** A tag is stored as `name:value`, the form in which providers take it for a pair as well (providers/tags.ts). */
export const toTag = ({ name, value }: ResendTag) => `${name}:${value}`

/** `order:42` → that pair; a tag of the native API without a colon, such as `welcome`, → `welcome`, `true`. */
export function fromTag(tag: string): ResendTag {
  const colon = tag.indexOf(':')
  return colon < 0 ? { name: tag, value: 'true' } : { name: tag.slice(0, colon), value: tag.slice(colon + 1) }
}

/** As the webhooks have them. The first of two tags with one name counts, as at the providers. */
export function tagsByName(tags: readonly string[]): Record<string, string> {
  const pairs = tags.map(fromTag).reverse()
  return Object.fromEntries(pairs.map(({ name, value }) => [name, value]))
}
