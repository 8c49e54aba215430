import { SEND_LIMITS } from '../contracts/send-body.ts'
import type { MessageLimits } from './read-message.ts'

export type SmtpLimits = MessageLimits & {
  /** Open connections of this process. */
  connections: number
  /** Open connections of one client network. */
  connectionsPerNetwork: number
  /** From the connection to a successful AUTH. */
  loginWithinMs: number
  /** Without a byte from the client. */
  idleMs: number
  /** Recipients of one message. */
  recipients: number
  /** Messages in memory at once: all, and those of one company. */
  memoryBytes: { total: number; perKey: number }
  /** For messages under way when the process stops. */
  stopWithinMs: number
}

export const SMTP_LIMITS: SmtpLimits = {
  connections: 1_000,
  connectionsPerNetwork: 100,
  loginWithinMs: 30_000,
  idleMs: 60_000,
  recipients: SEND_LIMITS.TO + SEND_LIMITS.CC + SEND_LIMITS.BCC,
  maxBytes: 16 * 1024 * 1024,
  countFrom: 64 * 1024,
  maxWaitMs: 10_000,
  arriveWithinMs: 120_000,
  memoryBytes: { total: 64 * 1024 * 1024, perKey: 32 * 1024 * 1024 },
  stopWithinMs: 10_000,
}
