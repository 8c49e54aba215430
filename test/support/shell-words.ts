/** The words of a simple command, up to a pipe or a comment. */
export function shellWords(command: string): string[] {
  const words = command.match(/'[^']*'|"[^"]*"|[^\s'"]+/g) ?? []
  const end = words.findIndex(word => /^(\|\|?|&&?|;|#.*|>.*)$/.test(word))
  return (end < 0 ? words : words.slice(0, end)).map(word => word.replaceAll(/^['"]|['"]$/g, ''))
}
