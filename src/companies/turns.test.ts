import { expect, test } from 'vitest'
import { type CompanyTurn, describeTurns } from './turns.ts'

const turn = (name: string, change: Partial<CompanyTurn> = {}): CompanyTurn => ({
  companyId: name,
  name,
  weight: 1,
  ratePerSecond: null,
  paused: false,
  ready: 0,
  oldestWaitingSeconds: null,
  attempts: 0,
  ...change,
})

test('a share is compared with what the weights give those that compete', () => {
  const turns = [
    turn('big', { weight: 3, attempts: 30 }),
    turn('small', { attempts: 10, ready: 5, oldestWaitingSeconds: 2 }),
    turn('idle', { weight: 50 }),
  ]
  const { attempts, competing, data } = describeTurns(turns, null)
  expect({ attempts, competing }).toEqual({ attempts: 40, competing: 2 })
  expect(data.map(({ name, share, fairShare }) => [name, share, fairShare])).toEqual([
    ['small', 0.25, 0.25],
    ['big', 0.75, 0.75],
  ])
})

test('a paused company that waits is shown without a share, and takes none from the others', () => {
  const turns = [turn('paused', { paused: true, ready: 9, oldestWaitingSeconds: 60 }), turn('other', { attempts: 1 })]
  expect(describeTurns(turns, null).data.map(({ name, fairShare }) => [name, fairShare])).toEqual([
    ['paused', 0],
    ['other', 1],
  ])
})

test('an idle company is shown when it is the one asked for, and nothing is divided by zero', () => {
  expect(describeTurns([turn('idle'), turn('other')], 'idle')).toEqual({
    attempts: 0,
    competing: 0,
    data: [{ ...turn('idle'), share: 0, fairShare: 0 }],
  })
})
