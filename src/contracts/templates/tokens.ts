/** `text` holds no tags; neither does `raw`, the content of a raw section, which goes out as it is written. */
export type TemplateToken = { kind: 'text' | 'output' | 'tag' | 'raw' | 'comment'; content: string }

const OPENING = /\{[{%]/g
/** Sections whose content is no part of the template. */
const SECTION_ENDS = { raw: /\{%-?\s*endraw\s*-?%\}/g, comment: /\{%-?\s*endcomment\s*-?%\}/g }

/**
 * The parts of a template in their order; what is never closed ends them. In one pass from left to right: a lazy regular expression
 * starts again at every opening, and takes seconds for 100 000 openings that nothing closes.
 */
export function* tokensOf(written: string): Generator<TemplateToken> {
  let done = 0
  for (;;) {
    const open = indexFrom(OPENING, written, done)
    const isTag = written[open + 1] === '%'
    const close = open === -1 ? -1 : written.indexOf(isTag ? '%}' : '}}', open + 2)
    if (close === -1) {
      yield { kind: 'text', content: written.slice(done) }
      return
    }
    yield { kind: 'text', content: written.slice(done, open) }
    const content = written
      .slice(open + 2, close)
      .replace(/^-/, '')
      .replace(/-$/, '')
      .trim()
    done = close + 2
    if (isTag && (content === 'raw' || content === 'comment')) {
      const end = SECTION_ENDS[content]
      const endsAt = indexFrom(end, written, done)
      if (endsAt === -1) return
      yield { kind: content, content: written.slice(done, endsAt) }
      done = end.lastIndex
    } else yield { kind: isTag ? 'tag' : 'output', content }
  }
}

/** Leaves `lastIndex` behind what was found. */
function indexFrom(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from
  return pattern.exec(text)?.index ?? -1
}
