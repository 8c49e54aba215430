import { readFileSync } from 'node:fs'
import { codeOf } from './error.ts'

/** Whether the number is taken, be it by a process that has ended and waits for its parent to notice. */
export function isTaken(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

export function isAlive(pid: number): boolean {
  return isTaken(pid) && !isZombie(pid)
}

function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false
  try {
    // "123 (name) S …": the name may hold anything, a parenthesis too.
    return /^.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}
