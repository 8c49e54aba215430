import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Frame, RedisFrames } from './redis-frames.ts'

/** As Redis says it. */
function said(value: unknown): string {
  if (value === null) return '$-1\r\n'
  if (typeof value === 'number') return `:${value}\r\n`
  if (Array.isArray(value)) return `*${value.length}\r\n${value.map(said).join('')}`
  return `$${Buffer.byteLength(String(value))}\r\n${value}\r\n`
}

function readIn(bytes: Buffer, pieces: number[]): { frames: Frame[]; rest: Buffer } {
  const frames: Frame[] = []
  const rest: Buffer[] = []
  const reader = new RedisFrames(
    frame => frames.push(frame),
    more => rest.push(more),
  )
  let from = 0
  for (const length of pieces) {
    if (from < bytes.length) reader.write(bytes.subarray(from, from + length))
    from += length
  }
  if (from < bytes.length) reader.write(bytes.subarray(from))
  return { frames, rest: Buffer.concat(rest) }
}

const { values } = fc.letrec(tie => ({
  value: fc.oneof({ maxDepth: 3 }, fc.string({ unit: 'binary' }), fc.integer(), fc.constant(null), tie('list')),
  list: fc.array(tie('value'), { maxLength: 5 }),
  values: fc.array(tie('value'), { minLength: 1, maxLength: 6 }),
}))

test('whatever is said, in whatever pieces it arrives, is read as it was meant', () => {
  fc.assert(
    fc.property(values, fc.array(fc.integer({ min: 1, max: 40 })), (list, pieces) => {
      const bytes = Buffer.from((list as unknown[]).map(said).join(''))
      const { frames, rest } = readIn(bytes, pieces)
      expect(frames.map(frame => frame.value)).toEqual(list)
      expect(Buffer.concat(frames.map(frame => frame.bytes))).toEqual(bytes)
      expect(rest).toHaveLength(0)
    }),
  )
})

test.each([
  ['an error', '-OOM command not allowed\r\n'],
  ['an error in a list', '*2\r\n:1\r\n-ERR no\r\n'],
  ['an error in a list in a list', '*1\r\n*1\r\n-ERR no\r\n'],
  ['a map', '%1\r\n$1\r\na\r\n:1\r\n'],
  ['a push with a double', '>2\r\n$1\r\na\r\n,1.5\r\n'],
  ['a truth and a large number', '*2\r\n#t\r\n(1234567890123\r\n'],
  ['an error and a text with their lengths', '*2\r\n!5\r\nERR a\r\n=5\r\ntxt:a\r\n'],
])('%s is cut out and left to others', (_, text) => {
  for (let cut = 1; cut <= text.length; cut++) {
    const { frames } = readIn(Buffer.from(`+OK\r\n${text}:7\r\n`), [5 + cut])
    expect(frames.map(frame => [frame.value, String(frame.bytes)])).toEqual([
      ['OK', '+OK\r\n'],
      [undefined, text],
      [7, ':7\r\n'],
    ])
  }
})

test('nothing is said in three ways, and an empty list or text is something', () => {
  const { frames } = readIn(Buffer.from('$-1\r\n*-1\r\n_\r\n*0\r\n$0\r\n\r\n'), [])
  expect(frames.map(frame => frame.value)).toEqual([null, null, null, [], ''])
})

test('what is large and comes in pieces is handed on as it comes, and all that follows it', () => {
  const large = said('x'.repeat(600_000))
  const bytes = Buffer.from(`:1\r\n${large}:2\r\n`)
  const { frames, rest } = readIn(
    bytes,
    Array.from({ length: 10 }, () => 65_536),
  )
  expect(frames.map(frame => frame.value)).toEqual([1])
  expect(String(rest)).toBe(`${large}:2\r\n`)
})

test('lists in lists without end are handed on, and use up nothing', () => {
  const endless = '*1\r\n'.repeat(60_000)
  const { frames, rest } = readIn(Buffer.from(`:1\r\n${endless}`), [])
  expect(frames.map(frame => frame.value)).toEqual([1])
  expect(String(rest)).toBe(endless)
})

test('lists one after the other are not deep', () => {
  const list = Array.from({ length: 100 }, () => [[[1]], []])
  expect(readIn(Buffer.from(said(list)), []).frames[0]!.value).toEqual(list)
})
