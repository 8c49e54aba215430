import { useTranslation } from 'react-i18next'
import { isProblem } from '../api/problem.ts'

/** What went wrong, in one sentence in the reader's language; the gateway's own words where the code is not known here. */
export function useErrorText(): (error: unknown) => string {
  const { t, i18n } = useTranslation()
  const known: Record<string, string> = i18n.getResourceBundle(i18n.language, 'problems') ?? {}
  return error => {
    if (!isProblem(error)) return t('errors.unknown')
    if (error.status === 0) return t('errors.offline')
    if (error.status === 403 && !error.message) return t('errors.forbidden')
    const sentence = known[error.code] ?? (error.message || t('errors.unknown'))
    if (error.errors.length === 0) return sentence
    const fields = error.errors.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ')
    return `${sentence.replace(/\.$/, '')}: ${fields}`
  }
}
