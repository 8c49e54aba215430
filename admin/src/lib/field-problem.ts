/** "fromDomains[1]" → "Sender domains (2)", "variables.user.name" → "Sample variables (user.name)"; a field without a label keeps its path. */
export function fieldLabel(path: string, labels: Record<string, string>): string {
  const [, root = '', index, rest = ''] = /^([^.[]*)(?:\[(\d+)\])?\.?(.*)$/.exec(path) ?? []
  if (!Object.hasOwn(labels, root)) return path
  const inside = [index && Number(index) + 1, rest].filter(Boolean).join(' ')
  return inside ? `${labels[root]} (${inside})` : labels[root]!
}

/** LiquidJS ends its sentences with the place: "tag \"x\" not found, line:3, col:5". null: it names none. */
export function liquidPlace(message: string): { words: string; line: string; column: string } | null {
  const [, words, line, column] = /^([\s\S]*), line:(\d+), col:(\d+)$/.exec(message) ?? []
  return words && line && column ? { words, line, column } : null
}

/** A rule for HTML was broken; the gateway names its code, of the problem or at the end of its words (src/contracts/templates/markup.ts). */
export const isHtmlRule = (code: string, message: string) =>
  code.startsWith('HTML_') || /\(HTML_[A-Z_]+\)$/.test(message)

/** The variable in the gateway's words for one that is missing (src/contracts/templates/render.ts). */
export function missingVariable(message: string): string | null {
  return /^(.*) is missing: the template uses it and has no default for it$/.exec(message)?.[1] ?? null
}
