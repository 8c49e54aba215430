import { useTranslation } from 'react-i18next'
import { isProblem } from '../api/problem.ts'

/** What went wrong, in one sentence in the reader's language; the gateway's own words where the code is not known here. */
export function useErrorText(): (error: unknown) => string {
  const { t, i18n } = useTranslation()
  const { language } = i18n
  const known: Record<string, string> = i18n.getResourceBundle(language, 'problems') ?? {}
  const knownFields: Record<string, string> = i18n.getResourceBundle(language, 'fieldProblems') ?? {}
  return error => {
    if (!isProblem(error)) return t('errors.unknown')
    if (error.status === 0) return t('errors.offline')
    if (error.status === 403 && !error.message) return t('errors.forbidden')
    const sentence = known[error.code] ?? (error.message || t('errors.unknown'))
    const own = error.errors.map(({ path, message }) => `${path}: ${message}`).join('; ')
    if (language === 'en') return own || sentence
    // The gateway's own words are English, so they are left for the problems that have no code of their own.
    const fields = error.errors.map(({ path, code, message }) => `${path}: ${knownFields[code] ?? message}`).join('; ')
    return fields ? `${sentence} (${fields})` : sentence
  }
}
