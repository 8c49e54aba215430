/**
 * Characters that let text say something other than what it shows: controls (header injection), lone surrogates,
 * line separators, the bidi controls of CVE-2021-42574, and all that Unicode shows as nothing, except for the two that choose
 * between the emoji and the text form of the character before them. No `g` flag, so `.test` keeps no state between callers.
 */
export const HOSTILE_CHARACTERS =
  /(?![\ufe0e\ufe0f])[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028-\u202e\ufff9-\ufffb\u{e0000}-\u{e007f}]/u

const PLAIN_ASCII = /^[\x20-\x7e]*$/

/** Families and professions (👩‍💻) are glued with U+200D; the flags of England, Scotland and Wales are spelt in tags. */
const EMOJI_GLUE =
  /(?<=\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]?)\u200d(?=\p{Extended_Pictographic})|(?<=\u{1f3f4})[\u{e0061}-\u{e007a}]{1,8}\u{e007f}/gu

/**
 * U+200C and U+200D decide how neighbours join in these scripts: Persian plurals, Indic conjuncts and half forms, Sinhala. Elsewhere
 * they only make two texts look alike.
 */
const JOINING_SCRIPTS =
  'Arabic Syriac Mandaic Nko Mongolian Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Khmer Myanmar Tibetan'
const JOINING = JOINING_SCRIPTS.split(' ')
  .map(script => `\\p{Script=${script}}`)
  .join('')
const SCRIPT_GLUE = new RegExp(`(?<=[${JOINING}]\\p{M}{0,4})[\\u200c\\u200d](?=[${JOINING}])`, 'gu')

/** One variation selector directly after its letter: forms of Han characters in names, of Mongolian letters in words. */
const SELECTOR_GLUE =
  /(?<=\p{Script=Han})[\ufe00-\ufe0d\u{e0100}-\u{e01ef}]|(?<=\p{Script=Mongolian})(?<!\p{M})[\u180b-\u180d\u180f]/gu

const GLUE = [EMOJI_GLUE, SCRIPT_GLUE, SELECTOR_GLUE]

/** `=?utf-8?B?…?=`: shown decoded, so it could smuggle in everything refused here. */
export const ENCODED_WORD = /=\?[^?\s]+\?[bq]\?/i

/** Strict: for addresses and header values, where even an emoji's joiner has no business. */
export function hasHostileCharacters(text: string): boolean {
  return !PLAIN_ASCII.test(text) && HOSTILE_CHARACTERS.test(text)
}

/** For what people read, such as a subject: as above, but joined emoji are welcome, and joiners and selectors where a script needs them. */
export function hasHostileCharactersInProse(text: string): boolean {
  if (!hasHostileCharacters(text)) return false
  return HOSTILE_CHARACTERS.test(GLUE.reduce((rest, glue) => rest.replace(glue, ''), text))
}

/** What is wrong with a line that people read (a subject, a name, a file name), or null. */
export function problemOfLine(text: string): string | null {
  if (hasHostileCharactersInProse(text))
    return 'must not contain line breaks, control, invisible or direction-changing characters'
  if (ENCODED_WORD.test(text)) return 'must not contain an encoded word (=?…?=); give it as plain text'
  return null
}
