import { isBlank } from '../characters.ts'

/** Padding after a preheader. A run of joiners is one match, because a search that tries each part of it takes quadratic time. */
const FILLER = /\u00ad|\u034f|\u200b|\u2060|\ufeff|[\u200c\u200d]+/g
const MAX_INDENT = 8

/** Collects text as a browser lays it out: white space collapses, and line breaks merge and are removed at both ends. */
export class TextWriter {
  listDepth = 0
  preformatted = 0
  private parts: string[] = []
  private pendingBreaks = 0
  private pendingSpace = false
  private pendingBullet = ''

  /** A position for textSince. Counted in parts, because the length of the growing text would need a copy each time. */
  get mark(): number {
    return this.parts.length
  }

  write(raw: string): void {
    if (this.preformatted > 0) this.writeAsIs(raw)
    else this.writeWords(raw)
  }

  private writeWords(raw: string): void {
    const words = withoutFiller(raw).replace(/\s+/g, ' ')
    const trimmed = words.trim()
    if (trimmed === '') {
      if (words !== '') this.pendingSpace = true
      return
    }
    if (words.startsWith(' ')) this.pendingSpace = true
    this.writePending()
    this.parts.push(trimmed)
    this.pendingSpace = words.endsWith(' ')
  }

  /** Directly after the text so far, before any pending line break. */
  append(suffix: string): void {
    this.parts.push(suffix)
  }

  textSince(mark: number): string {
    return this.parts.slice(mark).join('').trim()
  }

  addLine(): void {
    this.pendingBreaks = Math.min(this.pendingBreaks + 1, 2)
  }

  breakLine(count: 1 | 2): void {
    this.pendingBreaks = Math.max(this.pendingBreaks, count)
  }

  startItem(): void {
    this.pendingBullet = `${'  '.repeat(Math.min(Math.max(this.listDepth - 1, 0), MAX_INDENT))}- `
  }

  endItem(): void {
    this.pendingBullet = ''
  }

  finish(): string {
    return this.parts
      .join('')
      .replace(/\n{3,}/g, '\n\n')
      .trim()
  }

  private writeAsIs(raw: string): void {
    const text = raw.replace(/\r\n?/g, '\n').replace(/\u00a0/g, ' ')
    if (text === '') return
    this.writePending()
    this.parts.push(text)
  }

  private writePending(): void {
    if (this.parts.length > 0) {
      if (this.pendingBreaks > 0) this.parts.push('\n'.repeat(this.pendingBreaks))
      else if (this.pendingSpace) this.parts.push(' ')
    }
    if (this.pendingBullet !== '') this.parts.push(this.pendingBullet)
    this.pendingBreaks = 0
    this.pendingSpace = false
    this.pendingBullet = ''
  }
}

/** Joiners are removed only at the edge of a word: inside, Persian words and emoji need them. */
function withoutFiller(raw: string): string {
  return raw.replace(FILLER, (found, at: number) => {
    const isJoiner = found.startsWith('\u200c') || found.startsWith('\u200d')
    return isJoiner && isInWord(raw[at - 1]) && isInWord(raw[at + found.length]) ? found : ''
  })
}

const isInWord = (neighbour: string | undefined) => neighbour !== undefined && !isBlank(neighbour)
