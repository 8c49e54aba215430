import { EventEmitter } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { HtmlChecker } from './check.ts'

const INLINE = 8 * 1024
const small = '<p>Hello</p>'
const large = `<p>${'x'.repeat(INLINE)}</p>`
const hostile = `<script>1</script>${large}`
const DEADLINE_MS = 2_000

/** Does as the test says, in place of a real thread. */
class StubThread extends EventEmitter {
  readonly slowToStart: boolean
  jobs: { id: number; html: string }[] = []
  terminated = false
  constructor(slowToStart: boolean) {
    super()
    this.slowToStart = slowToStart
  }
  postMessage(job: { id: number; html: string }) {
    this.jobs.push(job)
    if (!this.slowToStart) this.start()
  }
  start() {
    this.emit('message', { started: true })
  }
  unref() {}
  async terminate() {
    this.terminated = true
  }
}

const codes = (problems: { code: string }[]) => problems.map(problem => problem.code)

describe('with a real thread', () => {
  let checker: HtmlChecker
  const check = (html: string, companyId = 'acme') => checker.check(html, companyId)

  beforeEach(() => {
    checker = new HtmlChecker('a key')
  })
  afterEach(() => checker.close())

  test('small HTML is checked', async () => {
    expect(await check(small)).toEqual([])
    expect(codes(await check('<script>1</script>'))).toEqual(['HTML_SCRIPT'])
    expect(await check('x'.repeat(INLINE))).toEqual([])
  })

  test('large HTML goes to the thread and gets the same answer', async () => {
    const answers = [check(large), check(hostile), check(large)]
    expect((await Promise.all(answers)).map(codes)).toEqual([[], ['HTML_SCRIPT'], []])
  })

  test('small and large HTML may link to the schemes of LINK_SCHEMES, and to no others', async () => {
    const link = '<a href="myapp://order/1">Open</a>'
    const adding = new HtmlChecker('a key', ['myapp'])
    for (const html of [link, link + large]) {
      expect(await adding.check(html, 'acme')).toEqual([])
      expect(codes(await check(html))).toEqual(['HTML_URL_SCHEME'])
    }
    await adding.close()
  })

  test('short HTML with many tags goes to the thread too', async () => {
    const [few, many] = ['<br>'.repeat(256), '<br>'.repeat(257)]
    expect([checker.takesTime(few), checker.takesTime(many)]).toEqual([false, true])
    expect([await check(many), await checker.textOf(`x${many}y`, 'acme')]).toEqual([[], 'x\n\ny'])
  })

  test('the event loop belongs to the others while 512 KB are parsed', async () => {
    let turns = 0
    const timer = setInterval(() => turns++, 1)
    await check('<b>x</b>'.repeat(65_000))
    clearInterval(timer)
    expect(turns).toBeGreaterThan(5)
  })

  test('100 000 nested elements are refused in time', async () => {
    const started = performance.now()
    expect(codes(await check('<div>'.repeat(100_000)))).toEqual(['HTML_TOO_DEEP'])
    expect(performance.now() - started).toBeLessThan(DEADLINE_MS)
  })
})

describe('with a thread that misbehaves', () => {
  let checker: HtmlChecker
  const check = (html: string, companyId = 'acme') => checker.check(html, companyId)
  let made: StubThread[]
  let slowToStart: boolean

  beforeEach(() => {
    vi.useFakeTimers()
    made = []
    slowToStart = false
    checker = new HtmlChecker('a key', [], () => {
      made.push(new StubThread(slowToStart))
      return made.at(-1) as unknown as Worker
    })
  })
  afterEach(async () => {
    vi.useRealTimers()
    await checker.close()
  })

  const thread = (place: number) => made[place]!
  const answer = (place: number, problems: { code: string; message: string }[] = []) =>
    thread(place).emit('message', { id: thread(place).jobs.at(-1)!.id, problems })

  test('one that hangs is replaced, its content refused as HTML_TOO_COMPLEX, and the next one checked', async () => {
    const [hanging, next] = [check(hostile), check(large)]
    vi.advanceTimersByTime(DEADLINE_MS - 1)
    expect(made).toHaveLength(1)
    vi.advanceTimersByTime(1)
    expect(codes(await hanging)).toEqual(['HTML_TOO_COMPLEX'])
    expect(thread(0).terminated).toBe(true)
    expect(thread(1).jobs.map(job => job.html)).toEqual([large])
    answer(1)
    expect(await next).toEqual([])
  })

  test('a thread that fails is replaced, its content refused at once, and the next one checked', async () => {
    const [refused, next] = [check(hostile), check(large)]
    thread(0).emit('error', new Error('ERR_WORKER_OUT_OF_MEMORY'))
    expect(codes(await refused)).toEqual(['HTML_TOO_COMPLEX'])
    answer(1)
    expect(await next).toEqual([])
  })

  test('one that exits without a word costs its content no more than the deadline', async () => {
    const refused = check(hostile)
    thread(0).emit('exit', 1)
    vi.advanceTimersByTime(DEADLINE_MS)
    expect(codes(await refused)).toEqual(['HTML_TOO_COMPLEX'])
  })

  test.each(['error', 'exit'])('a thread that ends (%s) while it has nothing to do affects no e-mail', async event => {
    const first = check(large)
    answer(0)
    await first
    thread(0).emit(event, event === 'error' ? new Error('gone') : 1)
    const next = check(large)
    expect(made).toHaveLength(2)
    answer(1)
    expect(await next).toEqual([])
  })

  test('a late answer of a replaced thread is nobody’s', async () => {
    const [hanging, next] = [check(hostile), check(large)]
    vi.advanceTimersByTime(DEADLINE_MS)
    await hanging
    thread(0).emit('message', { id: thread(0).jobs[0]!.id, problems: [{ code: 'HTML_NUL', message: 'late' }] })
    thread(0).emit('error', new Error('late'))
    answer(1)
    expect(await next).toEqual([])
    expect(made).toHaveLength(2)
  })

  test('the deadline starts when the content is parsed, not when it is queued', async () => {
    const answers = [check(large), check(large)]
    vi.advanceTimersByTime(DEADLINE_MS - 1)
    answer(0)
    await answers[0]
    vi.advanceTimersByTime(DEADLINE_MS - 1)
    answer(0)
    expect(await answers[1]).toEqual([])
    expect(made).toHaveLength(1)
  })

  test('a thread that starts slowly costs no content its deadline', async () => {
    slowToStart = true
    const checked = check(large)
    vi.advanceTimersByTime(10 * DEADLINE_MS)
    thread(0).start()
    vi.advanceTimersByTime(DEADLINE_MS - 1)
    answer(0)
    expect(await checked).toEqual([])
    expect(made).toHaveLength(1)
  })

  test('a thread that never starts is replaced in the end', async () => {
    slowToStart = true
    const checked = check(large)
    vi.advanceTimersByTime(30_000)
    expect(codes(await checked)).toEqual(['HTML_TOO_COMPLEX'])
    expect(thread(0).terminated).toBe(true)
  })

  test('companies take turns, however many one has waiting', async () => {
    const named = (name: string) => `<p>${name}</p>${large}`
    const asked = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1'].map(name => check(named(name), name[0]))
    for (let n = 0; n < asked.length; n++) answer(0)
    await Promise.all(asked)
    const order = thread(0).jobs.map(job => job.html.slice(3, 5))
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'a4'])
  })

  test('a company with 64 waiting is full, others are not, and one that is done makes room', async () => {
    const asked = Array.from({ length: 65 }, () => check(large))
    expect([checker.isFull('acme'), checker.isFull('other')]).toEqual([true, false])
    answer(0)
    await asked[0]
    expect(checker.isFull('acme')).toBe(false)
  })
})
