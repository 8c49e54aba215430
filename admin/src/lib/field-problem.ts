/** "fromDomains[1]" → "Sender domains (2)", "variables.user.name" → "Sample variables (user.name)"; a field without a label keeps its path. */
export function fieldLabel(path: string, labels: Record<string, string>): string {
  const [, root = '', index, rest = ''] = /^([^.[]*)(?:\[(\d+)\])?\.?(.*)$/.exec(path) ?? []
  if (!Object.hasOwn(labels, root)) return path
  const inside = [index && Number(index) + 1, rest].filter(Boolean).join(' ')
  return inside ? `${labels[root]} (${inside})` : labels[root]!
}

/** "fromDomains[1]" → "fromDomains"; the three parameters that hold a page of a list are one. */
export function fieldName(path: string): string {
  const name = path.split(/[.[]/, 1)[0]!
  return name === 'olderThan' || name === 'newerThan' ? 'cursor' : name
}

/** The words of the template engine without the place, and those of the HTML rules without their code: both are given apart. */
export const plainWords = (message: string) =>
  message.replace(/, line:\d+, col:\d+$/, '').replace(/ \(HTML_[A-Z_]+\)$/, '')
