import { readFileSync } from 'node:fs'
import { codeOf } from './error.ts'

/** True for zombies, too. */
export function pidExists(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

export function isAlive(pid: number): boolean {
  return pidExists(pid) && !isZombie(pid)
}

function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false
  try {
    // "123 (name) S …": the name may contain any character, also a parenthesis.
    return /^.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}
