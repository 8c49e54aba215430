import { expect, test } from 'vitest'
import { progressBar, progressOn } from './output.ts'

function written(isTTY: boolean): { stream: Parameters<typeof progressOn>[0]; text: () => string } {
  let text = ''
  const write = (chunk: string | Uint8Array) => {
    text += String(chunk)
    return true
  }
  return { stream: { isTTY, write }, text: () => text }
}

test('the bar fills from nothing to everything', () => {
  expect(progressBar(0, 10_000)).toBe(`[${'-'.repeat(30)}] 0 of 10,000`)
  expect(progressBar(6_000, 10_000)).toBe(`[${'#'.repeat(18)}${'-'.repeat(12)}] 6,000 of 10,000`)
  expect(progressBar(10_000, 10_000)).toBe(`[${'#'.repeat(30)}] 10,000 of 10,000`)
  expect(progressBar(0, 0)).toBe(`[${'#'.repeat(30)}] 0 of 0`)
})

test('on a terminal it is rewritten in place and ends with a line break', () => {
  const { stream, text } = written(true)
  const progress = progressOn(stream)
  progress.show(1, 2)
  progress.show(2, 2)
  progress.end()
  expect(text()).toBe(`\r${progressBar(1, 2)}\r${progressBar(2, 2)}\n`)
})

test('with nothing to show, or no terminal, nothing is written', () => {
  const [terminal, pipe] = [written(true), written(false)]
  progressOn(terminal.stream).end()
  const progress = progressOn(pipe.stream)
  progress.show(1, 2)
  progress.end()
  expect(terminal.text() + pipe.text()).toBe('')
})
