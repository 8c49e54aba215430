import { useTranslation } from 'react-i18next'
import { useReasonText } from '../../components/reason-text.ts'
import { useFormat } from '../../lib/format.ts'
import { usePreferences } from '../../lib/preferences.ts'
import { nextStepOf, pauseReasonOf } from './next-step.ts'
import type { Email } from './queries.ts'

const INSTANT = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g

/** The gateway explains in English; for other languages the same is said from the same facts. */
export function useExplanation(email: Email): { summary: string; next: string | null } {
  const { t } = useTranslation('emails')
  const format = useFormat()
  const reasonText = useReasonText()
  const { language } = usePreferences()
  const { explanation, status, lastError, attempts, maxAttempts } = email
  const readable = (text: string) => text.replace(INSTANT, at => format.exact(at))
  const diagnosis = status === 'BOUNCED' ? diagnosisOf(email.events) : null
  const bounced = diagnosis === null ? null : t('explain.bouncedBecause', { diagnosis })
  if (language === 'en')
    return { summary: bounced ?? readable(explanation.summary), next: explanation.next && readable(explanation.next) }
  const values = {
    attempts,
    count: attempts,
    maxAttempts,
    provider: email.provider ?? '–',
    error: lastError ? `${lastError.code}: ${lastError.message.replace(/[.\s]+$/, '')}` : '–',
  }
  const step = nextStepOf(explanation.next)
  const time = explanation.nextAt === null ? '–' : format.exact(explanation.nextAt)
  const next =
    [
      ...(step ? [t(`explain.next.${step}`, { time })] : []),
      ...(explanation.aheadInCompany === null ? [] : [t('explain.ahead', { count: explanation.aheadInCompany })]),
    ].join(' ') || null
  if (step === 'paused') {
    const reason = pauseReasonOf(explanation.summary)
    return { summary: reason ? t('explain.pausedBecause', { reason: reasonText(reason) }) : t('explain.paused'), next }
  }
  if (explanation.parkedProviders && (status === 'PENDING' || status === 'RETRY_SCHEDULED'))
    return { summary: t('explain.parked', { providers: explanation.parkedProviders.join(', ') }), next }
  if (lastError?.code === 'RECIPIENT_SUPPRESSED' && status === 'REJECTED')
    return { summary: t('explain.suppressed'), next }
  if (status === 'PENDING' && email.nextAttemptAt)
    return { summary: t('explain.scheduled', { time: format.exact(email.nextAttemptAt) }), next }
  return { summary: bounced ?? t(`explain.${status}`, values), next }
}

/** What the recipient's server said, without the name of the protocol: "550 5.1.1 user unknown". */
function diagnosisOf(events: Email['events']): string | null {
  const said = events.findLast(({ type, metadata }) => type === 'BOUNCE' && metadata.diagnosticCode)
  const text = said?.metadata.diagnosticCode
  return typeof text === 'string' ? text.replace(/^smtp;\s*/i, '') : null
}
