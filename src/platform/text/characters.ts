/**
 * Characters with which text reads differently from what it contains: controls (header injection), lone surrogates, line
 * separators, the bidi controls of CVE-2021-42574, and all invisible characters except U+FE0E and U+FE0F, which choose between
 * the text and the emoji form of a character. No `g` flag: `.test` would keep state between calls.
 */
export const HOSTILE_CHARACTERS =
  /(?![\ufe0e\ufe0f])[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028-\u202e\ufff9-\ufffb\u{e0000}-\u{e007f}]/u

const PLAIN_ASCII = /^[\x20-\x7e]*$/

/** Emoji such as 👩‍💻 are joined by U+200D; the flags of England, Scotland and Wales are written with tag characters. */
const EMOJI_JOINERS =
  /(?<=\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]?)\u200d(?=\p{Extended_Pictographic})|(?<=\u{1f3f4})[\u{e0061}-\u{e007a}]{1,8}\u{e007f}/gu

/**
 * In these scripts U+200C and U+200D change how letters join (Persian plurals, Indic conjuncts, Sinhala). In other scripts they
 * only make two different texts look the same.
 */
const JOINING_SCRIPTS =
  'Arabic Syriac Mandaic Nko Mongolian Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Khmer Myanmar Tibetan'
const JOINING = JOINING_SCRIPTS.split(' ')
  .map(script => `\\p{Script=${script}}`)
  .join('')
const SCRIPT_JOINERS = new RegExp(`(?<=[${JOINING}]\\p{M}{0,4})[\\u200c\\u200d](?=[${JOINING}])`, 'gu')

/** One variation selector directly after its letter: used in names with Han characters and in Mongolian words. */
const VARIATION_SELECTORS =
  /(?<=\p{Script=Han})[\ufe00-\ufe0d\u{e0100}-\u{e01ef}]|(?<=\p{Script=Mongolian})(?<!\p{M})[\u180b-\u180d\u180f]/gu

const ALLOWED_IN_PROSE = [EMOJI_JOINERS, SCRIPT_JOINERS, VARIATION_SELECTORS]

/** `=?utf-8?B?…?=`: mail clients decode it, so it could contain any character that is refused here. */
export const ENCODED_WORD = /=\?[^?\s]+\?[bq]\?/i

/** Strict, for addresses and header values: not even the joiners of emoji are allowed. */
export function hasHostileCharacters(text: string): boolean {
  return !PLAIN_ASCII.test(text) && HOSTILE_CHARACTERS.test(text)
}

/** For text that people read, such as a subject: joiners and variation selectors are allowed where emoji or scripts need them. */
export function hasHostileCharactersInProse(text: string): boolean {
  if (!hasHostileCharacters(text)) return false
  return HOSTILE_CHARACTERS.test(ALLOWED_IN_PROSE.reduce((rest, allowed) => rest.replace(allowed, ''), text))
}

/**
 * Code points, as Zod, JSON Schema and Postgres count. JavaScript's `length` counts an emoji as two, so a limit that is checked with it
 * refuses what another check has accepted.
 */
export function countCharacters(text: string): number {
  if (!/[\ud800-\udbff]/.test(text)) return text.length
  let count = 0
  for (const _character of text) count++
  return count
}

/** Counts only where the length alone does not decide, so that a very long text costs nothing. */
export function hasMoreCharacters(text: string, max: number): boolean {
  if (text.length <= max) return false
  return text.length > max * 2 || countCharacters(text) > max
}

/** The first ones, without cutting an emoji in half. */
export const firstCharacters = (text: string, max: number) =>
  hasMoreCharacters(text, max) ? [...text].slice(0, max).join('') : text

export const isBlank = (text: string) => !/\S/.test(text)

/** What is wrong with a line of text such as a subject, a name or a file name; null when it is fine. */
export function problemOfLine(text: string): string | null {
  if (hasHostileCharactersInProse(text))
    return 'must not contain line breaks, control, invisible or direction-changing characters'
  if (ENCODED_WORD.test(text)) return 'must not contain an encoded word (=?…?=); give it as plain text'
  return null
}
