/** Labels up to this length have room on one line. */
const LABEL_LENGTH = 24

/**
 * In sentences, "e-mail" gets a hyphen (U+2011) at which no line ends. CSS has no such rule for words inside of a text. Labels keep the
 * hyphen that is typed: they are what one searches for with Ctrl-F, in the palette and in tests.
 */
export function keepWordsWhole(text: string): string {
  return text.length > LABEL_LENGTH ? text.replaceAll(/\b(e)-(?=mail)/gi, '$1\u2011') : text
}
