import { useTranslation } from 'react-i18next'
import { isProblem } from '../api/problem.ts'

/** What went wrong, in one sentence: the gateway's own words where it said something. */
export function useErrorText(): (error: unknown) => string {
  const { t } = useTranslation()
  return error => {
    if (!isProblem(error)) return t('errors.unknown')
    if (error.status === 0) return t('errors.offline')
    if (error.status === 403 && !error.message) return t('errors.forbidden')
    const fields = error.errors.map(({ path, message }) => `${path}: ${message}`).join('; ')
    return fields || error.message || t('errors.unknown')
  }
}
