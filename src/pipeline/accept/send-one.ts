import { randomUUID } from 'node:crypto'
import { requireCompany } from '../../companies/command.ts'
import type { Company } from '../../companies/companies.ts'
import { type Answer, CommandFailed, UsageError, withStorage } from '../../console/command.ts'
import { type SendBody, sendBodySchema } from '../../outbox/send-body.ts'
import { HtmlChecker } from '../../platform/html/check.ts'
import type { Queryable } from '../../platform/postgres/query.ts'
import { batchError, fieldProblems, REPORT_INPUT, type Refusal } from '../../platform/text/refusal.ts'
import { withGatewaySettings } from '../../settings/processes.ts'
import { countWorkers } from '../../settings/workers.ts'
import { type AcceptDeps, type AcceptResult, acceptEmails } from './accept.ts'
import { makeAccept } from './compose.ts'

/** Accepts one e-mail for a company, with the same checks as POST /v1/email/send. */
export function sendOne(given: Record<string, unknown>, idOrName: string, test: boolean): Promise<Answer | null> {
  const body = bodyOf(given)
  return withStorage(async ({ db, config }) => {
    const company = await requireCompany(db, idOrName)
    const settings = await withGatewaySettings(db.pool, config)
    const html = new HtmlChecker(settings.hashPepper, settings.LINK_SCHEMES)
    const accept = makeAccept(settings, db, html, () => {})
    try {
      const outboxId = await send(accept, company, body, test)
      return {
        json: { outboxId, status: 'QUEUED' },
        lines: [
          `Queued ${outboxId}`,
          ...(await noSender(db.pool)),
          `Follow it with: email-gateway email explain ${outboxId}`,
        ],
      }
    } finally {
      await html.close()
    }
  })
}

/** `externalId` is `--external-id`. */
const optionOf = (path: string) => path.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)

function bodyOf(given: Record<string, unknown>): SendBody {
  const parsed = sendBodySchema.safeParse(given, REPORT_INPUT)
  if (parsed.success) return parsed.data
  const sentences = fieldProblems(parsed.error.issues).map(({ path, message }) => `--${optionOf(path)}: ${message}`)
  throw new UsageError(sentences.join('; '))
}

async function send(deps: AcceptDeps, company: Company, body: SendBody, test: boolean): Promise<string> {
  const outcome = await acceptEmails(
    {
      caller: {
        keyId: 'command line',
        companyId: company.companyId,
        test,
        fromDomains: company.fromDomains,
        defaultFrom: company.defaultFrom,
        retryPolicy: company.retryPolicy,
      },
      requestId: randomUUID(),
      members: [{ index: 0, body }],
      strict: true,
      idempotency: null,
      refusedBefore: new Map(),
    },
    deps,
  )
  return acceptedId(outcome)
}

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

/** What to add to "Queued" when nothing would send it now. */
export async function noSender(db: Queryable): Promise<string[]> {
  return (await countWorkers(db)) > 0
    ? []
    : ['No process that sends is running: it waits until you run email-gateway start.']
}
