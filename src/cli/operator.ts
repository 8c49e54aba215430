import { userInfo } from 'node:os'

/** Who runs this command, for the audit log. A container may run as a user id without a name. */
export function operator(): string {
  return `cli:${userName()}`.slice(0, 100)
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}
