import { useTranslation } from 'react-i18next'
import type { audit } from '../../i18n/en/audit.ts'

export type KnownAction = keyof typeof audit.actions
export type KnownSubject = keyof typeof audit.subjects

/** What was done, and to what, in words. What is not known here is shown as the log has it. */
export function useAuditWords() {
  const { t } = useTranslation('audit')
  const known = t('actions', { returnObjects: true }) as Record<string, string>
  const subjects = t('subjects', { returnObjects: true }) as Record<string, string>
  return {
    actions: known,
    subjects,
    action: (action: string) => known[action] ?? plain(action),
    subject: (type: string) => subjects[type] ?? plain(type),
  }
}

export function plain(word: string): string {
  const text = word.replaceAll('_', ' ').toLowerCase()
  return text.charAt(0).toUpperCase() + text.slice(1)
}
