import { batchError, type Refusal } from '../contracts/refusal.ts'
import { CommandFailed } from './failures.ts'

export const SUPPRESSED =
  'Refused: the recipient is on the suppression list. Look why with: email-gateway suppression check ADDRESS; lift it with: email-gateway suppression remove ADDRESS --justification TEXT'

export const refusedBy = (refusal: Refusal) => new CommandFailed(refusalText(refusal), refusal.code)

/** The refusal of the accept step, with what a command line can do about it. */
export function refusalText(refusal: Refusal): string {
  const { message } = batchError(0, refusal)
  return refusal.code === 'TEMPLATE_NOT_FOUND'
    ? message.replace('GET /v1/templates lists them', 'list them with: email-gateway template list --company NAME')
    : message
}
