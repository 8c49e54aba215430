/** Padding behind a preheader. Joiners go only at the edge of a word: inside, they spell Persian and emoji. */
const FILLER = /\u00ad|\u034f|\u200b|\u2060|\ufeff|(?<!\S)(?:\u200c|\u200d)+|(?:\u200c|\u200d)+(?!\S)/g
const MAX_INDENT = 8

/** Collects text the way a browser would lay it out: white space collapses, breaks merge, none at either end. */
export class TextWriter {
  listDepth = 0
  preformatted = 0
  private parts: string[] = []
  private pendingBreaks = 0
  private pendingSpace = false
  private pendingBullet = ''

  /** A place in the text, for textSince. Parts, not characters: measuring a growing string would copy it each time. */
  get mark(): number {
    return this.parts.length
  }

  write(raw: string): void {
    if (this.preformatted > 0) this.writeAsIs(raw)
    else this.writeWords(raw)
  }

  private writeWords(raw: string): void {
    const words = raw.replace(FILLER, '').replace(/\s+/g, ' ')
    const trimmed = words.trim()
    if (trimmed === '') {
      if (words !== '') this.pendingSpace = true
      return
    }
    if (words.startsWith(' ')) this.pendingSpace = true
    this.settle()
    this.parts.push(trimmed)
    this.pendingSpace = words.endsWith(' ')
  }

  /** Right behind what is already there, before any pending break. */
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
    this.settle()
    this.parts.push(text)
  }

  private settle(): void {
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
