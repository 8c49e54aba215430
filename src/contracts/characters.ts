/**
 * Characters that let text say something other than what it shows: controls (header injection), lone surrogates,
 * zero-width and filler characters, line separators, and the bidi controls of CVE-2021-42574. No `g` flag, so
 * `.test` keeps no state between callers.
 */
export const HOSTILE_CHARACTERS =
  /[\p{Cc}\p{Cs}\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]|\u034f/u

const PLAIN_ASCII = /^[\x20-\x7e]*$/

/** Families and professions (👩‍💻) are glued with U+200D; the flags of England, Scotland and Wales are spelt in tags. */
const EMOJI_GLUE =
  /(?<=\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]?)\u200d(?=\p{Extended_Pictographic})|(?<=\u{1f3f4})[\u{e0061}-\u{e007a}]{1,8}\u{e007f}/gu

/** Strict: for addresses and header values, where even an emoji's joiner has no business. */
export function hasHostileCharacters(text: string): boolean {
  return !PLAIN_ASCII.test(text) && HOSTILE_CHARACTERS.test(text)
}

/** For what people read, such as a subject: as above, but joined emoji are welcome. */
export function hasHostileCharactersInProse(text: string): boolean {
  return hasHostileCharacters(text) && HOSTILE_CHARACTERS.test(text.replace(EMOJI_GLUE, ''))
}
