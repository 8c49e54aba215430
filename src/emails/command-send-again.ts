import { randomUUID } from 'node:crypto'
import { findCompany } from '../companies/companies.ts'
import { type Answer, CommandFailed, notFound, type Opened, operator } from '../console/command.ts'
import type { SendBody } from '../outbox/send-body.ts'
import { FINAL_STATUSES } from '../outbox/states.ts'
import { makeAccept } from '../pipeline/accept/compose.ts'
import { acceptedId, noSender } from '../pipeline/accept/send-one.ts'
import { HtmlChecker } from '../platform/html/check.ts'
import { fieldPath } from '../platform/text/refusal.ts'
import { withGatewaySettings } from '../settings/processes.ts'
import { decideResend, readStoredEmail, type StoredEmail, sendAgain } from './send-again.ts'

/** Sends an e-mail again, with the same checks as POST /v1/email/:outboxId/resend. */
export async function sendAgainByOperator({ db, config }: Opened, outboxId: string): Promise<Answer> {
  const stored = await readStoredEmail(db.pool, outboxId)
  if (!stored) throw notFound(`There is no e-mail ${outboxId}.`)
  const body = bodyOrRefusal(stored)
  const company = await findCompany(db.pool, stored.companyId)
  if (!company) throw notFound('Its company does not exist any more.')
  const settings = await withGatewaySettings(db.pool, config)
  const html = new HtmlChecker(settings.hashPepper, settings.LINK_SCHEMES)
  try {
    const accept = makeAccept(settings, db, html, () => {})
    const who = { performedBy: operator(), by: 'command line', requestId: randomUUID() }
    const accepted = acceptedId(await sendAgain(stored, body, company, who, { db, accept }))
    return {
      json: { outboxId: accepted, status: 'QUEUED', resendOf: outboxId },
      lines: [`Queued ${accepted}, which sends ${outboxId} again`, ...(await noSender(db.pool))],
    }
  } finally {
    await html.close()
  }
}

function bodyOrRefusal(stored: StoredEmail): SendBody {
  const decision = decideResend(stored)
  switch (decision.kind) {
    case 'resend':
      return decision.body
    case 'not-ended':
      throw new CommandFailed(
        `It is ${stored.status}: only an e-mail that has ended (${FINAL_STATUSES.join(', ')}) can be sent again.`,
        'NOT_ENDED',
      )
    case 'content-gone':
      throw new CommandFailed('Its content or its recipient was erased, so it cannot be sent again.', 'CONTENT_GONE')
    case 'invalid': {
      const sentences = decision.issues.map(issue => `${fieldPath(issue.path)}: ${issue.message}`)
      throw new CommandFailed(
        `It does not follow the rules of a new e-mail: ${sentences.join('; ')}`,
        'INVALID_PAYLOAD',
      )
    }
  }
}
