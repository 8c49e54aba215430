import { randomUUID } from 'node:crypto'
import { findCompany } from '../companies/companies.ts'
import { type Answer, CommandFailed, notFound, type Opened, operator } from '../console/command.ts'
import type { SendBody } from '../outbox/send-body.ts'
import { FINAL_STATUSES } from '../outbox/states.ts'
import { type AcceptDeps, acceptEmails } from '../pipeline/accept/accept.ts'
import { acceptAudited } from '../pipeline/accept/audited.ts'
import { callerOfCompany } from '../pipeline/accept/caller.ts'
import { makeAccept } from '../pipeline/accept/compose.ts'
import { acceptedId, noSender } from '../pipeline/accept/send-one.ts'
import { HtmlChecker } from '../platform/html/check.ts'
import { fieldPath } from '../platform/text/refusal.ts'
import { withGatewaySettings } from '../settings/processes.ts'
import { decideResend, readStoredEmail, type StoredEmail } from './send-again.ts'

/** Sends an e-mail again, with the same checks as POST /v1/email/:outboxId/resend. */
export async function resendOne({ db, config }: Opened, outboxId: string): Promise<Answer> {
  const stored = await readStoredEmail(db.pool, outboxId)
  if (!stored) throw notFound(`There is no e-mail ${outboxId}.`)
  const body = bodyOrRefusal(stored)
  const settings = await withGatewaySettings(db.pool, config)
  const html = new HtmlChecker(settings.hashPepper, settings.LINK_SCHEMES)
  try {
    const accept = makeAccept(settings, db, html, () => {})
    const audit = {
      performedBy: operator(),
      action: 'RESENT',
      subjectType: 'email',
      subjectId: outboxId,
      companyId: stored.companyId,
    } as const
    const write: AcceptDeps['write'] = toStore =>
      acceptAudited(db.pool, toStore, resentAs => ({ ...audit, after: { resentAs } }))
    const request = {
      caller: await callerOf(stored, db.pool),
      requestId: randomUUID(),
      members: [{ index: 0, body, resend: { outboxId, template: stored.template } }],
      strict: true,
      idempotency: null,
      refusedBefore: new Map(),
    }
    const accepted = acceptedId(await acceptEmails(request, { ...accept, write }))
    return answerOf(accepted, outboxId, await noSender(db.pool))
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

async function callerOf({ companyId, test }: StoredEmail, db: Opened['db']['pool']) {
  const company = await findCompany(db, companyId)
  if (!company) throw notFound('Its company does not exist any more.')
  return callerOfCompany(company, test, 'command line')
}

function answerOf(outboxId: string, resendOf: string, waits: string[]): Answer {
  return {
    json: { outboxId, status: 'QUEUED', resendOf },
    lines: [`Queued ${outboxId}, which sends ${resendOf} again`, ...waits],
  }
}
