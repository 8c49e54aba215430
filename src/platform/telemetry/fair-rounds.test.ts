import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { FairRounds } from './process-figures.ts'

function made() {
  const registry = new Registry()
  let nowMs = 0
  const rounds = new FairRounds(registry, () => nowMs)
  const passMs = (ms: number) => {
    nowMs += ms
  }
  const shown = async (waiting: string[]) => {
    rounds.show(waiting)
    const values = (await registry.getSingleMetric('tenant_rounds_without_processing')!.get()).values
    return Object.fromEntries(values.map(one => [one.labels.company_id, one.value]))
  }
  return { rounds, shown, registry, passMs }
}

test('a company that is passed over is some rounds behind, and one that is served is not', async () => {
  const { rounds, shown } = made()
  await shown(['a', 'b', 'c'])
  rounds.claimed(['a', 'a', 'b', 'a', 'b'])
  rounds.claimed(['a', 'b', 'a', 'b'])
  expect(await shown(['a', 'b', 'c'])).toEqual({ a: 0, b: 0, c: 3 })
})

test('a run of one company is one round, however many claims it takes', async () => {
  const { rounds, shown } = made()
  await shown(['b'])
  for (let claim = 0; claim < 5; claim++) rounds.claimed(['a', 'a'])
  expect(await shown(['b'])).toEqual({ b: 0 })
})

test('a company that was not waiting before starts at zero, whenever it was served last', async () => {
  const { rounds, shown } = made()
  rounds.claimed(['c', 'a', 'b', 'a', 'b'])
  expect(await shown(['c'])).toEqual({ c: 0 })
  rounds.claimed(['a', 'b', 'a'])
  expect(await shown(['c'])).toEqual({ c: 2 })
  expect(await shown([])).toEqual({})
})

test('a process that claims nothing says nothing', async () => {
  const { rounds, shown, passMs } = made()
  expect(await shown(['a'])).toEqual({})
  rounds.claimed(['b'])
  expect(await shown(['a'])).toEqual({ a: 0 })
  passMs(60_000)
  rounds.claimed([])
  expect(await shown(['a'])).toEqual({})
})

test('the priority falls with the rounds to 1, the most urgent', async () => {
  const { rounds, registry } = made()
  rounds.show(['c'])
  rounds.claimed(['a', 'b', 'a', 'b', 'a', 'b', 'a'])
  rounds.show(['c'])
  const [value] = (await registry.getSingleMetric('tenant_current_priority')!.get()).values
  expect(value).toMatchObject({ labels: { company_id: 'c' }, value: 2 })
})
