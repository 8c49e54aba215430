import { tokensOf } from './tokens.ts'

const QUOTED = /"[^"]*"|'[^']*'/g
/** Names after `|` are filters; names before `:` or after a dot belong to something else. */
const PATH = /(?<![\w.|-]|\|\s{1,20})[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*|\[\d+\])*(?!\s{0,20}:)(?![\w-])/g
const WORDS: ReadonlySet<string> = new Set(
  'if elsif else unless case when for in and or not contains true false nil null empty blank assign break continue reversed'.split(
    ' ',
  ),
)
const LOCAL = /^(?:for|assign)\s+([\w-]+)/

/** The names of the variables that a template uses, such as `user.name`. (The analysis of LiquidJS takes seconds for 10 000.) */
export function usedVariables(written: string): string[] {
  const names = new Set<string>()
  const locals = new Set(['forloop'])
  for (const { kind, content } of tokensOf(written)) {
    if (kind !== 'output' && kind !== 'tag') continue
    if (kind === 'tag' && (content.startsWith('end') || content.startsWith('#'))) continue
    const local = kind === 'tag' ? LOCAL.exec(content)?.[1] : undefined
    if (local !== undefined) locals.add(local)
    for (const [path] of content.replace(QUOTED, '""').matchAll(PATH)) if (!WORDS.has(path)) names.add(path)
  }
  return [...names].filter(name => !locals.has(rootOf(name))).sort()
}

export const rootOf = (path: string) => path.split(/[.[]/, 1)[0]!
