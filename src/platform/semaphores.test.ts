import { describe, expect, test } from 'vitest'
import { Semaphore } from './semaphores.ts'

const turn = () => new Promise(resolve => setImmediate(resolve))

describe('an open semaphore', () => {
  test('lets so many in at once, and tells them at once', () => {
    const semaphore = new Semaphore(2)
    expect([semaphore.enter(), semaphore.enter()]).toEqual([true, true])
    expect(semaphore.enter()).toBeInstanceOf(Promise)
  })

  test('lets the next one in when one leaves, in the order they came', async () => {
    const semaphore = new Semaphore(1)
    const entered: number[] = []
    for (let name = 0; name < 5; name++) void Promise.resolve(semaphore.enter()).then(() => entered.push(name))
    for (let left = 0; left < 5; left++) {
      await turn()
      expect(entered).toHaveLength(left + 1)
      semaphore.leave()
    }
    expect(entered).toEqual([0, 1, 2, 3, 4])
  })

  test('never has more inside than its bound, whoever leaves when', async () => {
    const semaphore = new Semaphore(3)
    let [inside, most] = [0, 0]
    const visit = async (ms: number) => {
      expect(await semaphore.enter()).toBe(true)
      most = Math.max(most, ++inside)
      await new Promise(resolve => setTimeout(resolve, ms))
      inside--
      semaphore.leave()
    }
    await Promise.all(Array.from({ length: 60 }, (_, index) => visit(index % 4)))
    expect(most).toBe(3)
    expect([semaphore.enter(), semaphore.enter(), semaphore.enter()]).toEqual([true, true, true])
  })
})

describe('a closed semaphore', () => {
  test('turns away those who wait and those who come, and lets those inside finish', async () => {
    const semaphore = new Semaphore(1)
    expect(semaphore.enter()).toBe(true)
    const waiting = [semaphore.enter(), semaphore.enter()]
    semaphore.close()
    expect(await Promise.all(waiting)).toEqual([false, false])
    expect(semaphore.enter()).toBe(false)
    semaphore.leave()
    expect(semaphore.enter(), 'a free place changes nothing').toBe(false)
  })

  test('may be closed twice', () => {
    const semaphore = new Semaphore(1)
    semaphore.close()
    semaphore.close()
    expect(semaphore.enter()).toBe(false)
  })
})

describe('a semaphore that lets some in ahead', () => {
  const leaveQuickly = async (semaphore: Semaphore, times: number) => {
    for (let n = 0; n < times; n++) {
      await semaphore.enter()
      semaphore.leave()
      if (n % 50 === 0) await turn()
    }
  }
  const inside = (semaphore: Semaphore) => {
    let entered = 0
    while (entered < 100 && semaphore.tryEnter()) entered++
    return entered
  }

  test('where they leave quickly: three times as many again, and no more', async () => {
    const semaphore = new Semaphore(4, 15)
    const until = performance.now() + 120
    while (performance.now() < until) await leaveQuickly(semaphore, 200)
    expect(inside(semaphore)).toBe(16)
  })

  test('where they do not: none', async () => {
    const semaphore = new Semaphore(4, 15)
    for (let n = 0; n < 3; n++) {
      await semaphore.enter()
      await new Promise(resolve => setTimeout(resolve, 30))
      semaphore.leave()
    }
    expect(inside(semaphore)).toBe(4)
  })
})
