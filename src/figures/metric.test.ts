import { expect, test } from 'vitest'
import { writeFamilies } from './metric.ts'

test('a family has its help, its type and one line for each sample', () => {
  const text = writeFamilies([
    { name: 'a_total', type: 'counter', help: 'Of a', samples: [{ value: 3 }] },
    { name: 'b', type: 'gauge', help: 'Of b', samples: [{ labels: { x: '1', y: '2' }, value: 0.5 }] },
  ])
  expect(text).toBe(
    '# HELP a_total Of a\n# TYPE a_total counter\na_total 3\n# HELP b Of b\n# TYPE b gauge\nb{x="1",y="2"} 0.5\n',
  )
})

test('quotes, backslashes and line ends in a label cannot end it', () => {
  const samples = [{ labels: { code: 'a"} 1\nb\\' }, value: 1 }]
  expect(writeFamilies([{ name: 'c', type: 'gauge', help: 'Of\nc', samples }])).toBe(
    '# HELP c Of\\nc\n# TYPE c gauge\nc{code="a\\"} 1\\nb\\\\"} 1\n',
  )
})
