import { useTranslation } from 'react-i18next'
import { useFailureText } from '../../components/error-text.ts'
import { useReasonText } from '../../components/reason-text.ts'
import { useFormat } from '../../lib/format.ts'
import { usePreferences } from '../../lib/preferences.ts'
import { bouncedOf } from './EmailRow.tsx'
import type { Email } from './queries.ts'
import { retryReason } from './retry-reason.ts'

const INSTANT = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g

/** With so many an e-mail expires first: the policy persistent (src/settings/retry.ts). */
const UNTIL_EXPIRY = 48

/** The gateway explains in English; for other languages the same is said from the same facts. */
export function useExplanation(email: Email): { summary: string; next: string | null } {
  const { t } = useTranslation('emails')
  const format = useFormat()
  const reasonText = useReasonText()
  const failureText = useFailureText()
  const { language } = usePreferences()
  const { explanation, status, lastError, attempts, maxAttempts } = email
  const readable = (text: string) => text.replace(INSTANT, at => format.exact(at))
  const diagnosis = status === 'BOUNCED' ? diagnosisOf(email) : null
  const bounced = diagnosis === null ? null : t('explain.bouncedBecause', { diagnosis })
  if (language === 'en')
    return { summary: bounced ?? readable(explanation.summary), next: explanation.next && readable(explanation.next) }
  const values = {
    attempts,
    count: attempts,
    maxAttempts,
    provider: email.provider ?? '–',
    error: lastError
      ? `${lastError.code}: ${failureText(lastError.code, lastError.message.replace(/[.\s]+$/, ''))}`
      : '–',
  }
  const step = explanation.nextStep
  const time = explanation.nextAt === null ? '–' : format.exact(explanation.nextAt)
  const next =
    [
      ...(step ? [t(`explain.next.${step}`, { time })] : []),
      ...(explanation.aheadInCompany === null ? [] : [t('explain.ahead', { count: explanation.aheadInCompany })]),
    ].join(' ') || null
  if (step === 'resume') {
    const reason = explanation.pauseReason
    return { summary: reason ? t('explain.pausedBecause', { reason: reasonText(reason) }) : t('explain.paused'), next }
  }
  if (explanation.parkedProviders && (status === 'PENDING' || status === 'RETRY_SCHEDULED'))
    return { summary: t('explain.parked', { providers: explanation.parkedProviders.join(', ') }), next }
  if (lastError?.code === 'RECIPIENT_SUPPRESSED' && status === 'REJECTED')
    return { summary: t('explain.suppressed'), next }
  if (status === 'PENDING' && email.nextAttemptAt)
    return { summary: t('explain.scheduled', { time: format.exact(email.nextAttemptAt) }), next }
  if (status === 'PROCESSING' && step === 'lost') return { summary: t('explain.lost', values), next }
  if (status === 'RETRY_SCHEDULED') return { summary: retryText(), next }
  const twice = wasSentAgain(email) ? ` ${t('explain.twice')}` : ''
  const some = ['SENT', 'DELIVERED', 'COMPLAINED'].includes(status) ? bouncedOf(email) : null
  const others = some ? ` ${t('explain.othersBounced', some)}` : ''
  const isTimed = status === 'DELIVERED' && email.deliveredAt !== null
  const state = isTimed
    ? t('explain.deliveredAt', { time: format.exact(email.deliveredAt!) })
    : t(`explain.${status}`, values)
  return { summary: bounced ?? `${state}${others}${twice}`, next }

  function retryText(): string {
    const reason = retryReason(lastError)
    const provider = email.provider ?? t('explain.retry.anyProvider')
    const because = reason ? t(`explain.retry.${reason}`, { ...values, provider }) : ''
    const attempt = attempts + 1
    const which =
      maxAttempts >= UNTIL_EXPIRY
        ? t('explain.retry.untilExpiry', { attempt, time: format.exact(email.expiresAt) })
        : t('explain.retry.of', { attempt, maxAttempts })
    return step === 'due' ? t('explain.retry.at', { which, time, because }) : t('explain.retry.due', { which, because })
  }
}

const wasSentAgain = ({ status, events }: Email) =>
  (status === 'SENT' || status === 'DELIVERED') &&
  events.some(({ type, metadata }) => type === 'RESOLVED' && metadata.by === 'policy-resend')

/** What the recipient's server said, without the name of the protocol: "550 5.1.1 user unknown". */
function diagnosisOf({ events, recipients }: Email): string | null {
  // What was said about a copy says nothing about the e-mail, whose status is that of its `to`.
  const isOfCopy = (place: number | null) => place !== null && recipients[place]?.kind !== 'to'
  const said = events.findLast(
    ({ type, metadata, recipient }) => type === 'BOUNCE' && metadata.diagnosticCode && !isOfCopy(recipient),
  )
  const text = said?.metadata.diagnosticCode
  return typeof text === 'string' ? text.replace(/^smtp;\s*/i, '') : null
}
