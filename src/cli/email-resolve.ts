import { writeAudit } from '../db/audit.ts'
import { findEmail } from '../db/outbox/emails.ts'
import { type Settlement, settleAttempts } from '../db/outbox/settle.ts'
import { findUnknownSend, type OpenUnknownSend } from '../db/outbox/unknown-sends.ts'
import { inTransaction } from '../db/query.ts'
import { type Answer, CommandFailed, notFound, type Opened } from './command.ts'
import { operator } from './operator.ts'

/** What somebody has seen at the provider about an e-mail of unknown outcome. */
export type Finding = { messageId: string } | 'not-sent'

export async function resolveOne({ db }: Opened, outboxId: string, finding: Finding): Promise<Answer> {
  const send = await findUnknownSend(db.pool, outboxId)
  if (!send && !(await findEmail(db.pool, outboxId, null))) throw notFound(`There is no e-mail ${outboxId}.`)
  if (!send) throw new CommandFailed(`The outcome of ${outboxId} is not unknown: see email-gateway email explain.`)
  const settlement = settlementOf(send, finding)
  const isResolved = await inTransaction(db.pool, async tx => {
    const [written] = await settleAttempts(tx, [settlement])
    if (written)
      await writeAudit(tx, {
        performedBy: operator(),
        action: 'RESOLVED',
        subjectType: 'email',
        subjectId: outboxId,
        companyId: send.companyId,
        before: { status: 'UNKNOWN' },
        after: { status: settlement.status },
      })
    return written
  })
  if (!isResolved) throw new CommandFailed('Its outcome has just become known: see email-gateway email explain.')
  const what = finding === 'not-sent' ? `${outboxId} is sent again` : `${outboxId} is SENT`
  return { json: { outboxId, status: settlement.status }, lines: [what] }
}

function settlementOf({ outboxId, attemptId, provider, attempts }: OpenUnknownSend, finding: Finding): Settlement {
  const resolved = { type: 'RESOLVED' as const, metadata: { by: 'operator', attemptId, attempt: attempts } }
  const base: Pick<Settlement, 'outboxId' | 'guard' | 'count'> = {
    outboxId,
    guard: { kind: 'unknown', attemptId },
    count: ['unknown_resolved', 'operator'],
  }
  // An attempt that did not arrive counts as not made, or the last one would leave none for this.
  if (finding === 'not-sent')
    return { ...base, status: 'PENDING', attempts: Math.max(0, attempts - 1), events: [resolved] }
  const { messageId } = finding
  const sent = {
    type: 'SENT' as const,
    metadata: { by: 'operator', messageId, provider, attemptId, attempt: attempts },
  }
  return { ...base, status: 'SENT', attempts, messageId, events: [resolved, sent] }
}
