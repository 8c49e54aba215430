import { isSuppressionReason, SUPPRESSION_REASONS, type SuppressionReason } from '../contracts/suppression/rules.ts'
import { hashOfAddress, justificationSchema, readEmailHash, SUPPRESSION_LIMITS } from '../contracts/suppression/view.ts'
import { type Answer, type Input, type Reading, required, text, UsageError } from './command.ts'
import { requireCompany } from './company.ts'
import { operator } from './operator.ts'

/** `prepare` checks the arguments; the function that it returns opens the database. */
export type SuppressionAction = {
  options: string[]
  prepare: (values: Input['values'], word: string | undefined) => () => Promise<Answer | null>
}

export function hashOf(word: string | undefined): string {
  const given = required(word, 'ADDRESS|HASH')
  const hash = readEmailHash(given)
  if (hash) return hash
  const hashed = hashOfAddress(given)
  if (!hashed.ok) throw new UsageError(hashed.problem.message)
  return hashed.emailHash
}

export async function listOfCompany({ db }: Reading, values: Input['values']): Promise<string | null> {
  const company = text(values, 'company')
  return company === undefined ? null : (await requireCompany(db, company)).companyId
}

export function reasonOf(values: Input['values']): SuppressionReason | null {
  const given = text(values, 'reason')?.toUpperCase()
  if (given === undefined) return null
  if (!isSuppressionReason(given)) throw new UsageError(`--reason must be ${SUPPRESSION_REASONS.join(', ')}`)
  return given
}

export function daysOf(values: Input['values']): number | undefined {
  const given = text(values, 'days')
  if (given === undefined) return undefined
  const days = Number(given)
  if (given.trim() === '' || !Number.isInteger(days) || days < 0 || days > SUPPRESSION_LIMITS.EXPIRES_IN_DAYS)
    throw new UsageError(`--days must be a whole number from 0 (for ever) to ${SUPPRESSION_LIMITS.EXPIRES_IN_DAYS}`)
  return days
}

/** Every manual change is audited with a person and a reason. */
export function auditFields(values: Input['values']): { performedBy: string; justification: string } {
  const justification = justificationSchema.safeParse(required(text(values, 'justification'), '--justification TEXT'))
  if (!justification.success) throw new UsageError(`--justification ${justification.error.issues[0]!.message}`)
  const performedBy = text(values, 'by') ?? operator()
  if (!/^[^\p{Cc}]{1,100}$/u.test(performedBy)) throw new UsageError('--by must have 1 to 100 printable characters')
  return { performedBy, justification: justification.data }
}
