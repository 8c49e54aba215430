import type { MailAddress } from '../contracts/addresses.ts'
import { decideSender } from '../contracts/sender.ts'
import type { Caller } from './caller.ts'

export type SenderSettings = {
  defaultFrom: MailAddress
  /** No provider that leaves the machine is configured. */
  captureOnly: boolean
}

/** null: the company may not send from this address. */
export function senderOf(from: MailAddress | undefined, caller: Caller, settings: SenderSettings): MailAddress | null {
  const { defaultFrom, captureOnly } = settings
  return decideSender(from, { fromDomains: caller.fromDomains, defaultFrom, nothingLeaves: captureOnly || caller.test })
}
