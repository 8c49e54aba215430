import { useTranslation } from 'react-i18next'
import { useFormat } from '../../lib/format.ts'
import { usePreferences } from '../../lib/preferences.ts'
import type { Email } from './queries.ts'

/** The gateway explains in English; for other languages the same is said from the same facts. */
export function useExplanation(email: Email): { summary: string; next: string | null } {
  const { t } = useTranslation('emails')
  const format = useFormat()
  const { language } = usePreferences()
  const { explanation, status, lastError, attempts, maxAttempts } = email
  if (language === 'en') return { summary: explanation.summary, next: explanation.next }
  const values = {
    attempts,
    maxAttempts,
    provider: email.provider ?? '–',
    error: lastError ? `${lastError.code}: ${lastError.message.replace(/[.\s]+$/, '')}` : '–',
  }
  const next = explanation.aheadInCompany === null ? null : t('explain.ahead', { count: explanation.aheadInCompany })
  if (explanation.parkedProviders && (status === 'PENDING' || status === 'RETRY_SCHEDULED'))
    return { summary: t('explain.parked', { providers: explanation.parkedProviders.join(', ') }), next }
  if (lastError?.code === 'RECIPIENT_SUPPRESSED' && status === 'REJECTED')
    return { summary: t('explain.suppressed'), next }
  if (status === 'PENDING' && email.nextAttemptAt)
    return { summary: t('explain.scheduled', { time: format.exact(email.nextAttemptAt) }), next }
  return { summary: t(`explain.${status}`, values), next }
}
