/**
 * Names, subjects and error texts come from companies, recipients and providers. An escape sequence in one of them could clear the
 * screen or hide a line, and a bidirectional override could reverse a name.
 */
const CONTROL = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu
const CONTROL_BUT_LINES = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu
/** Characters that JSON allows unescaped in a string and a terminal may interpret. */
const RAW_IN_JSON = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

export function visibleLine(text: string): string {
  return text.replace(/[\r\n\t]+/g, ' ').replace(CONTROL, '')
}

/** Keeps line breaks and tabs. */
export function visibleText(text: string): string {
  return text.replace(CONTROL_BUT_LINES, '')
}

/** Parses to the same value. */
export function visibleJson(value: unknown): string {
  return JSON.stringify(value).replace(
    RAW_IN_JSON,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
