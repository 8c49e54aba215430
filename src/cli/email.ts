import { explainEmail } from '../contracts/explain.ts'
import { isUuid } from '../contracts/uuid.ts'
import { writeAudit } from '../db/audit.ts'
import { companyNames } from '../db/companies/companies.ts'
import { findEmail, listEvents } from '../db/outbox/emails.ts'
import { findLocation } from '../db/outbox/location.ts'
import { listResends } from '../db/outbox/resend.ts'
import { cancelEmail } from '../db/outbox/schedule.ts'
import { inTransaction } from '../db/query.ts'
import {
  type Answer,
  actionOf,
  type Command,
  CommandFailed,
  type Input,
  notFound,
  type Opened,
  reading,
  required,
  text,
  UsageError,
  writing,
} from './command.ts'
import { describeDeleted } from './email-deleted.ts'
import { LIST_OPTIONS, listAction } from './email-list.ts'
import { type Finding, resolveOne } from './email-resolve.ts'
import { readInUse } from './in-use.ts'
import { operator } from './operator.ts'

export const emailCommand: Command = {
  usage: [
    ['email list [OPTIONS]', 'newest first'],
    ['email show ID', 'an e-mail and its events'],
    ['email explain ID', 'where it is, why, and what happens next'],
    ['email cancel ID', 'cancel an e-mail that has not started'],
    ['email resend ID', 'send an e-mail that has ended once more, as a new one; all checks are made again'],
    [
      'email resolve ID --sent MESSAGE_ID | --not-sent',
      'say what became of an e-mail of unknown outcome, as the provider shows it',
    ],
  ],
  words: { list: 0, show: 1, explain: 1, cancel: 1, resend: 1, resolve: 1 },
  options: {
    ...LIST_OPTIONS,
    sent: { type: 'string', value: 'MESSAGE_ID', help: 'resolve: the provider has it, under this id; it becomes SENT' },
    'not-sent': { type: 'boolean', help: 'resolve: the provider does not have it; it is sent again' },
  },
  run({ words: [action, given], values }) {
    const act = actionOf<ListAction | IdAction>({ list: listAction, ...ACTIONS }, action, 'email')
    if (act === listAction) {
      refuse(values, name => FINDINGS.includes(name))
      return listAction(values)()
    }
    refuse(values, name => name !== 'json' && !(action === 'resolve' && FINDINGS.includes(name)))
    const outboxId = required(given, 'ID')
    if (!isUuid(outboxId)) throw new UsageError('ID must be the outboxId of an e-mail, a UUID')
    return (act as IdAction)(outboxId, values)
  },
}

const FINDINGS = ['sent', 'not-sent']
const MESSAGE_ID_MAX = 500

function refuse(values: Input['values'], isUnused: (name: string) => boolean): void {
  const unused = Object.keys(values).find(isUnused)
  if (unused) throw new UsageError(`--${unused} cannot be used here`)
}

type ListAction = typeof listAction
type IdAction = (outboxId: string, values: Input['values']) => Promise<Answer>

const ACTIONS: Record<'show' | 'explain' | 'cancel' | 'resend' | 'resolve', IdAction> = {
  show: reading(async ({ db }, outboxId) => {
    const email = await findEmail(db.pool, outboxId, null)
    if (!email) return describeDeleted(db.pool, outboxId)
    const events = await listEvents(db.pool, outboxId)
    const resentAs = await listResends(db.pool, outboxId)
    const companyName = (await companyNames(db.pool, [email.companyId])).get(email.companyId) ?? email.companyId
    const lines = [
      `${email.status}  ${email.subject ?? email.templateType ?? ''}`,
      `company ${companyName} (${email.companyId})`,
      `from ${email.from}  to ${email.to.join(', ')}`,
      ...(email.resendOf ? [`sends ${email.resendOf} again`] : []),
      ...resentAs.map(id => `sent again as ${id}`),
      ...events.map(event => `${event.createdAt}  ${event.type}  ${JSON.stringify(event.metadata)}`),
    ]
    return { json: { ...email, resentAs, companyName, events }, lines }
  }),
  explain: reading(async ({ db, config }, outboxId) => {
    const email = await findEmail(db.pool, outboxId, null)
    if (!email) return describeDeleted(db.pool, outboxId)
    const { providers } = await readInUse(db.pool, config)
    const explanation = explainEmail(email, await findLocation(db.pool, outboxId, providers))
    return {
      json: explanation,
      lines: [explanation.summary, ...(explanation.next ? [`Next: ${explanation.next}`] : [])],
    }
  }),
  cancel: writing(async ({ db }, outboxId) => {
    const { companyId, status, scheduledAt } = await requireEmail(db.pool, outboxId)
    const outcome = await inTransaction(db.pool, async tx => {
      const changed = await cancelEmail(tx, outboxId, null, 'command line')
      if (changed === 'done')
        await writeAudit(tx, {
          performedBy: operator(),
          action: 'CANCELLED',
          subjectType: 'email',
          subjectId: outboxId,
          companyId,
          before: { status, scheduledAt },
        })
      return changed
    })
    if (outcome === 'not-found') throw noEmail(outboxId)
    if (outcome === 'locked')
      throw new CommandFailed(
        'Another transaction is changing the e-mail; try again, or see what doctor says about locks.',
        'EMAIL_LOCKED',
      )
    if (outcome === 'too-late' && status === 'CANCELLED')
      throw new CommandFailed('The e-mail is already cancelled.', 'ALREADY_STARTED')
    if (outcome === 'too-late')
      throw new CommandFailed('Too late: the e-mail has been started or has ended.', 'ALREADY_STARTED')
    return { json: { outboxId, status: 'CANCELLED' }, lines: [`Cancelled ${outboxId}`] }
  }),
  resend: writing(async (opened, outboxId) => {
    // Imported here, as in send.ts: the accept rules take a quarter of the start-up time of any command.
    const { resendOne } = await import('./email-resend.ts')
    return resendOne(opened, outboxId)
  }),
  resolve: async (outboxId, values) => writing(resolveOne)(outboxId, findingOf(values)),
}

function findingOf(values: Input['values']): Finding {
  const messageId = text(values, 'sent')
  if ((messageId === undefined) === (values['not-sent'] !== true))
    throw new UsageError('give --sent MESSAGE_ID or --not-sent')
  if (messageId === undefined) return 'not-sent'
  if (messageId.length > MESSAGE_ID_MAX) throw new UsageError(`MESSAGE_ID has more than ${MESSAGE_ID_MAX} characters`)
  return { messageId: required(messageId.trim(), 'MESSAGE_ID') }
}

async function requireEmail(db: Opened['db']['pool'], outboxId: string) {
  const email = await findEmail(db, outboxId, null)
  if (!email) throw noEmail(outboxId)
  return email
}

const noEmail = (outboxId: string) => notFound(`There is no e-mail ${outboxId}.`)
