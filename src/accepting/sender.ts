import { type MailAddress, parseAddress } from '../contracts/addresses.ts'
import { decideSender, type SenderSettings } from '../contracts/sender.ts'
import type { Caller } from './caller.ts'

/** null: the company may not send from this address. */
export function senderOf(from: MailAddress | undefined, caller: Caller, settings: SenderSettings): MailAddress | null {
  const { defaultFrom, captureOnly } = settings
  return decideSender(from, {
    fromDomains: caller.fromDomains,
    companyFrom: from || !caller.defaultFrom ? null : addressOf(caller.defaultFrom),
    defaultFrom,
    nothingLeaves: captureOnly || caller.test,
  })
}

function addressOf(text: string): MailAddress | null {
  const parsed = parseAddress(text)
  return parsed.ok ? parsed.value : null
}
