/** Labels up to this length have room on one line. */
const LABEL_LENGTH = 24

/**
 * In sentences, "e-mail" gets a hyphen (U+2011) at which no line ends; CSS has no such rule for a word of a text. Ctrl-F does not find it
 * by the hyphen that is typed, so labels, which one searches for, keep that one. A word joiner would be found, but nobody sees that a copied text has
 * one, and the gateway refuses it in a reason.
 */
export function keepWordsWhole(text: string): string {
  return text.length > LABEL_LENGTH ? text.replaceAll(/\b(e)-(?=mail)/gi, '$1\u2011') : text
}
