import { randomUUID } from 'node:crypto'
import { batchError, fieldPath } from '../contracts/refusal.ts'
import { type SendBody, sendBodySchema } from '../contracts/send-body.ts'
import type { Company } from '../db/companies.ts'
import { makeAccept } from '../main-accept.ts'
import { type AcceptDeps, acceptEmails } from '../pipeline/accept-email.ts'
import { HtmlChecker } from '../pipeline/html-check.ts'
import { type Answer, type Command, CommandFailed, type Input, text, UsageError, withStorage } from './command.ts'
import { known } from './company.ts'

const TEXT_OPTIONS = ['to', 'from', 'subject', 'html', 'text', 'externalId', 'scheduledAt'] as const

export const sendCommand: Command = {
  usage:
    'send --to ADDRESS --subject TEXT (--html HTML | --text TEXT) [--from ADDRESS] [--company ID|NAME (demo)] [--test]',
  words: 0,
  options: {
    company: { type: 'string' },
    test: { type: 'boolean' },
    ...Object.fromEntries(TEXT_OPTIONS.map(name => [name, { type: 'string' as const }])),
  },
  run: ({ values }) => {
    const body = bodyOf(values)
    return withStorage(async ({ db, config }) => {
      const company = await known(db, text(values, 'company') ?? 'demo')
      const html = new HtmlChecker(config.hashPepper)
      const accept = makeAccept(config, db, html, () => {})
      try {
        return await send(accept, company, body, values.test === true)
      } finally {
        await html.close()
      }
    })
  },
}

async function send(deps: AcceptDeps, company: Company, body: SendBody, test: boolean): Promise<Answer> {
  const outcome = await acceptEmails(
    {
      caller: {
        keyId: 'command line',
        companyId: company.companyId,
        test,
        fromDomains: company.fromDomains,
        retryPolicy: company.retryPolicy,
      },
      requestId: randomUUID(),
      members: [{ index: 0, body }],
      strict: true,
      idempotency: null,
      refusedBefore: [],
    },
    deps,
  )
  if (outcome.kind === 'refused') throw new CommandFailed(batchError(0, outcome.refusals.get(0)!).message)
  const verdict = outcome.kind === 'answered' ? outcome.answer.verdicts[0] : undefined
  if (verdict?.verdict !== 'ACCEPTED') throw new CommandFailed('Refused: the recipient is on the suppression list.')
  const { outboxId } = verdict
  return {
    json: { outboxId, status: 'QUEUED' },
    lines: [`Queued ${outboxId}`, `Follow it with: email-gateway email explain ${outboxId}`],
  }
}

function bodyOf(values: Input['values']): SendBody {
  const given = Object.fromEntries(
    TEXT_OPTIONS.map(name => [name, text(values, name)]).filter(([, value]) => value !== undefined),
  )
  const parsed = sendBodySchema.safeParse(given)
  if (parsed.success) return parsed.data
  const sentences = parsed.error.issues.map(issue => `--${fieldPath(issue.path)}: ${issue.message}`)
  throw new UsageError(sentences.join('; '))
}
