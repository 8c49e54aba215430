import { randomUUID } from 'node:crypto'
import { makeAccept } from '../compose/accept.ts'
import { fieldProblems, REPORT_INPUT } from '../contracts/field-problems.ts'
import { type SendBody, sendBodySchema } from '../contracts/send-body.ts'
import type { Company } from '../db/companies/companies.ts'
import { type AcceptDeps, acceptEmails } from '../pipeline/accept.ts'
import { HtmlChecker } from '../sending/html-check.ts'
import { type Answer, UsageError, withStorage } from './command.ts'
import { requireCompany } from './company.ts'
import { withGatewaySettings } from './in-use.ts'
import { noSender } from './no-sender.ts'
import { acceptedId } from './refusal-text.ts'

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
