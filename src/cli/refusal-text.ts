import { batchError, type Refusal } from '../contracts/refusal.ts'
import type { AcceptResult } from '../pipeline/accept.ts'
import { CommandFailed } from './failures.ts'

const SUPPRESSED =
  'Refused: the recipient is on the suppression list. Look why with: email-gateway suppression check ADDRESS; lift it with: email-gateway suppression remove ADDRESS --justification TEXT'
const NO_RECIPIENT = 'Refused: there is no such recipient in this company, or it has another address.'

/** The id of the one e-mail that was to be accepted; anything else fails as the API would refuse it. */
export function acceptedId(outcome: AcceptResult): string {
  if (outcome.kind === 'refused') throw refusedBy(outcome.refusals.get(0)!)
  if (outcome.kind !== 'answered')
    throw new CommandFailed('The e-mail could not be accepted; try again.', 'SERVER_BUSY')
  const { status, outboxId } = outcome.answer.results[0]!
  if (status === 'SUPPRESSED') throw new CommandFailed(SUPPRESSED, 'RECIPIENT_SUPPRESSED')
  if (status !== 'ACCEPTED') throw new CommandFailed(NO_RECIPIENT, 'RECIPIENT_NOT_FOUND')
  return outboxId
}

const refusedBy = (refusal: Refusal) => new CommandFailed(refusalText(refusal), refusal.code)

/** The refusal of the accept step, with what a command line can do about it. */
export function refusalText(refusal: Refusal): string {
  const { message } = batchError(0, refusal)
  return refusal.code === 'TEMPLATE_NOT_FOUND'
    ? message.replace('GET /v1/templates lists them', 'list them with: email-gateway template list --company NAME')
    : message
}
