import { describe, expect, test } from 'vitest'
import { FairSlots, type Release } from './semaphores.ts'

/** Who was admitted, in order, and how each is released. */
function watch(slots: FairSlots) {
  const admitted: string[] = []
  const releases: Release[] = []
  const ask = (name: string, weight?: number, patienceMs?: number) =>
    slots.acquire(name[0]!, weight, patienceMs).then(release => {
      admitted.push(release ? name : `${name} refused`)
      if (release) releases.push(release)
    })
  return { admitted, releases, ask, settled: () => new Promise(resolve => setImmediate(resolve)) }
}

describe('slots', () => {
  test('are given at once while there are some', async () => {
    const { ask, admitted, settled } = watch(new FairSlots({ total: 2, perKey: 2, waitingPerKey: 9 }))
    for (const name of ['a1', 'b1', 'a2']) void ask(name)
    await settled()
    expect(admitted).toEqual(['a1', 'b1'])
  })

  test('go to each key in turn, however many one has waiting', async () => {
    const { ask, admitted, releases, settled } = watch(new FairSlots({ total: 1, perKey: 1, waitingPerKey: 99 }))
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']) void ask(name)
    for (let n = 0; n < 7; n++) {
      await settled()
      releases.shift()!()
    }
    await settled()
    expect(admitted).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
  })

  test('are held by one key up to its share, while others get theirs', async () => {
    const { ask, admitted, releases, settled } = watch(new FairSlots({ total: 3, perKey: 2, waitingPerKey: 9 }))
    for (const name of ['a1', 'a2', 'a3', 'b1']) void ask(name)
    await settled()
    expect(admitted).toEqual(['a1', 'a2', 'b1'])
    releases[0]!()
    await settled()
    expect(admitted).toEqual(['a1', 'a2', 'b1', 'a3'])
  })

  test('go to a key that holds none before one that holds some', async () => {
    const { ask, admitted, releases, settled } = watch(new FairSlots({ total: 3, perKey: 2, waitingPerKey: 9 }))
    for (const name of ['a1', 'a2', 'b1', 'a3', 'b2', 'c1']) void ask(name)
    await settled()
    expect(admitted).toEqual(['a1', 'a2', 'b1'])
    releases[0]!()
    await settled()
    expect(admitted).toEqual(['a1', 'a2', 'b1', 'c1'])
    releases[1]!()
    await settled()
    expect(admitted).toEqual(['a1', 'a2', 'b1', 'c1', 'a3'])
  })

  test('are not taken by small ones for ever while a large one waits', async () => {
    const { ask, admitted, releases, settled } = watch(new FairSlots({ total: 10, perKey: 10, waitingPerKey: 9 }))
    void ask('a1', 6)
    void ask('b1', 8)
    void ask('c1', 1)
    await settled()
    expect(admitted).toEqual(['a1'])
    releases[0]!()
    await settled()
    expect(admitted).toEqual(['a1', 'b1', 'c1'])
  })

  test('are given whole to what asks for more than there is', async () => {
    const { ask, admitted, releases, settled } = watch(new FairSlots({ total: 10, perKey: 5, waitingPerKey: 9 }))
    void ask('a1', 99)
    void ask('b1')
    await settled()
    expect(admitted).toEqual(['a1'])
    releases[0]!()
    releases[0]!()
    void ask('c1', 9)
    await settled()
    expect(admitted).toEqual(['a1', 'b1', 'c1'])
  })

  test('are refused to a key that has too many waiting, and to nobody else', async () => {
    const { ask, admitted, settled } = watch(new FairSlots({ total: 1, perKey: 1, waitingPerKey: 2 }))
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1']) void ask(name)
    await settled()
    expect(admitted).toEqual(['a1', 'a4 refused'])
  })

  test('are refused when the time is over, and those behind get in', async () => {
    const { ask, admitted } = watch(new FairSlots({ total: 10, perKey: 10, waitingPerKey: 9 }))
    await ask('a1', 6)
    const behind = ask('c1', 1)
    await ask('b1', 8, 10)
    await behind
    expect(admitted).toEqual(['a1', 'c1', 'b1 refused'])
  })
})
