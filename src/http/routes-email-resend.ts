import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { decideResend } from '../accepting/resend.ts'
import { acceptedSchema } from '../contracts/email-view.ts'
import { fieldProblems } from '../contracts/field-problems.ts'
import { summarise } from '../contracts/refusal.ts'
import { FINAL_STATUSES } from '../contracts/states.ts'
import { readStoredEmail } from '../db/outbox/resend.ts'
import { acceptEmails } from '../pipeline/accept.ts'
import type { App } from './app.ts'
import { requireKey } from './auth.ts'
import { problemAnswers } from './openapi.ts'
import { Problem, refusalProblem } from './problem.ts'
import { spendTokens } from './rate-limit.ts'
import { type EmailRouteDeps, emailParams, emailRefusals, findOwnEmail } from './routes-emails.ts'
import { type SendRouteDeps, sendHeaders, toAccept } from './routes-send.ts'
import { sendAnswer } from './send-answers.ts'

const resendSchema = {
  summary: 'Send an e-mail that has ended once more, as a new e-mail that names the old one',
  tags: ['E-mails'],
  params: emailParams,
  headers: sendHeaders,
  response: {
    202: acceptedSchema.extend({ resendOf: z.uuid() }),
    ...emailRefusals,
    ...problemAnswers(409, 410, 422, 429),
  },
}

export function emailResendRoutes(app: App, deps: EmailRouteDeps & SendRouteDeps): void {
  const onRequest = requireKey(deps.keys, deps.pepper, 'send')
  app.post('/v1/email/:outboxId/resend', { onRequest, schema: resendSchema }, (request, reply) =>
    resend(request, reply, deps),
  )
}

async function resend(request: FastifyRequest, reply: FastifyReply, deps: EmailRouteDeps & SendRouteDeps) {
  const { outboxId } = await findOwnEmail(request, deps.db)
  const stored = await readStoredEmail(deps.db.pool, outboxId)
  if (!stored) throw new Problem('NOT_FOUND')
  const decision = decideResend(stored)
  if (decision.kind === 'not-ended')
    throw new Problem('NOT_ENDED', {
      detail: `The e-mail is ${stored.status}; it can be sent again once it has ended: ${FINAL_STATUSES.join(', ')}`,
    })
  if (decision.kind === 'content-gone') throw new Problem('CONTENT_GONE')
  if (decision.kind === 'invalid') throw refusalProblem(summarise(fieldProblems(decision.issues)))
  await spendTokens(request, reply, 1, deps)
  const member = { index: 0, body: decision.body, resend: { outboxId, template: stored.template } }
  // The key stands for this e-mail: the request has no body.
  const asked = toAccept(request, [member], true, new Map(), { resendOf: outboxId })
  const answer = sendAnswer(await acceptEmails(asked, deps.accept), reply)
  return reply
    .code(202)
    .header('location', `/v1/email/${answer.outboxId}`)
    .send({ ...answer, resendOf: outboxId })
}
