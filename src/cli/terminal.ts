/**
 * Names, subjects and reasons come from companies, receivers and providers. Printed as they are, an escape sequence in one of them
 * could clear the screen, retitle the window or hide a line; a bidi override could turn a name around.
 */
const CONTROL = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu
const CONTROL_BUT_LINES = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu
/** What JSON allows in a string and a terminal may obey. */
const RAW_IN_JSON = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

/** One line, whatever it holds. */
export function visibleLine(text: string): string {
  return text.replace(/[\r\n\t]+/g, ' ').replace(CONTROL, '')
}

/** Several lines, such as a stack or a list of failures. */
export function visibleText(text: string): string {
  return text.replace(CONTROL_BUT_LINES, '')
}

/** The same value to whoever parses it. */
export function visibleJson(value: unknown): string {
  return JSON.stringify(value).replace(
    RAW_IN_JSON,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
