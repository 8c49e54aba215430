import { describe, expect, test } from 'vitest'
import { Gate } from './gate.ts'

const turn = () => new Promise(resolve => setImmediate(resolve))

describe('an open gate', () => {
  test('lets so many in at once, and tells them at once', () => {
    const gate = new Gate(2)
    expect([gate.enter(), gate.enter()]).toEqual([true, true])
    expect(gate.enter()).toBeInstanceOf(Promise)
  })

  test('lets the next one in when one leaves, in the order they came', async () => {
    const gate = new Gate(1)
    const entered: number[] = []
    for (let name = 0; name < 5; name++) void Promise.resolve(gate.enter()).then(() => entered.push(name))
    for (let left = 0; left < 5; left++) {
      await turn()
      expect(entered).toHaveLength(left + 1)
      gate.leave()
    }
    expect(entered).toEqual([0, 1, 2, 3, 4])
  })

  test('never has more inside than its bound, whoever leaves when', async () => {
    const gate = new Gate(3)
    let [inside, most] = [0, 0]
    const visit = async (ms: number) => {
      expect(await gate.enter()).toBe(true)
      most = Math.max(most, ++inside)
      await new Promise(resolve => setTimeout(resolve, ms))
      inside--
      gate.leave()
    }
    await Promise.all(Array.from({ length: 60 }, (_, index) => visit(index % 4)))
    expect(most).toBe(3)
    expect([gate.enter(), gate.enter(), gate.enter()]).toEqual([true, true, true])
  })
})

describe('a closed gate', () => {
  test('turns away those who wait and those who come, and lets those inside finish', async () => {
    const gate = new Gate(1)
    expect(gate.enter()).toBe(true)
    const waiting = [gate.enter(), gate.enter()]
    expect(gate.closed).toBe(false)
    gate.close()
    expect(gate.closed).toBe(true)
    expect(await Promise.all(waiting)).toEqual([false, false])
    expect(gate.enter()).toBe(false)
    gate.leave()
    expect(gate.enter(), 'a free place changes nothing').toBe(false)
  })

  test('wakes those who sleep, and nobody falls asleep at it', async () => {
    const gate = new Gate(1)
    const asleep = [gate.sleep(3_600_000), gate.sleep(3_600_000)]
    await gate.sleep(5)
    gate.close()
    await Promise.all([...asleep, gate.sleep(3_600_000)])
  })

  test('may be closed twice', () => {
    const gate = new Gate(1)
    gate.close()
    gate.close()
    expect(gate.enter()).toBe(false)
  })
})

describe('a gate that lets some in ahead', () => {
  const leaveQuickly = async (gate: Gate, times: number) => {
    for (let n = 0; n < times; n++) {
      await gate.enter()
      gate.leave()
      if (n % 50 === 0) await turn()
    }
  }
  const inside = (gate: Gate) => {
    let entered = 0
    while (entered < 100 && gate.tryEnter()) entered++
    return entered
  }

  test('where they leave quickly: three times as many again, and no more', async () => {
    const gate = new Gate(4, 15)
    const until = performance.now() + 120
    while (performance.now() < until) await leaveQuickly(gate, 200)
    expect(inside(gate)).toBe(16)
  })

  test('where they do not: none', async () => {
    const gate = new Gate(4, 15)
    for (let n = 0; n < 3; n++) {
      await gate.enter()
      await new Promise(resolve => setTimeout(resolve, 30))
      gate.leave()
    }
    expect(inside(gate)).toBe(4)
  })
})
