import { LEDGER_FAULTS } from '../contracts/ledger.ts'
import { maskSensitive } from '../contracts/masking.ts'
import { justificationSchema } from '../contracts/suppression/view.ts'
import { isUuid } from '../contracts/uuid.ts'
import { acknowledgeFaults } from '../db/ledger/faults.ts'
import { type Answer, type Input, notFound, required, text, UsageError, writing } from './command.ts'
import { dayOf } from './moment.ts'
import { operator } from './operator.ts'
import { counted } from './plural.ts'

/** For what is known and cannot be mended: it stays in the list with this reason, and ends the alert. */
export function acknowledge(values: Input['values'], outboxId: string | undefined): Promise<Answer> {
  const day = dayOf(text(values, 'day'), '--day')
  if (outboxId !== undefined && day !== undefined) throw new UsageError('OUTBOX_ID and --day cannot both be given')
  if (outboxId !== undefined && !isUuid(outboxId)) throw new UsageError('OUTBOX_ID must be a UUID')
  const reason = justificationSchema.safeParse(required(text(values, 'reason'), '--reason TEXT'))
  if (!reason.success) throw new UsageError(`--reason ${reason.error.issues[0]!.message}`)
  const by = text(values, 'by') ?? operator()
  if (!/^[^\p{Cc}]{1,100}$/u.test(by)) throw new UsageError('--by must have 1 to 100 printable characters')
  return writing(async ({ db }) => {
    const given = { outboxId: outboxId ?? null, day: day ?? null, by, reason: maskSensitive(reason.data) }
    const acknowledged = await acknowledgeFaults(db.pool, given)
    if (acknowledged.length === 0)
      throw notFound('There is nothing to acknowledge. List what there is with: email-gateway ledger')
    const lines = acknowledged.map(
      one => `${one.day}  ${one.outboxId ?? counted(one.emails, 'e-mail')}: ${LEDGER_FAULTS[one.kind]}`,
    )
    return { json: { acknowledged }, lines: [`Acknowledged ${counted(acknowledged.length, 'fault')}`, ...lines] }
  })()
}
