import { useTranslation } from 'react-i18next'
import { type FieldError, isProblem } from '../api/problem.ts'
import { fieldLabel, isHtmlRule, liquidPlace, missingVariable } from '../lib/field-problem.ts'

/** What went wrong, in one sentence in the reader's language; the gateway's own words where the code is not known here. */
export function useErrorText(): (error: unknown) => string {
  const { t, i18n } = useTranslation()
  const { language } = i18n
  const known: Record<string, string> = i18n.getResourceBundle(language, 'problems') ?? {}
  const fieldProblemText = useFieldProblemText()
  return error => {
    if (!isProblem(error)) return t('errors.unknown')
    if (error.status === 0) return t('errors.offline')
    if (error.status === 403 && !error.message) return t('errors.forbidden')
    if (error.errors.length > 0) return error.errors.map(fieldProblemText).join('; ')
    return known[error.code] ?? (error.message || t('errors.unknown'))
  }
}

/** What is wrong with one field: its label, as forms have it, and why. The template engine's own words stay English. */
export function useFieldProblemText(): (problem: FieldError) => string {
  const { t, i18n } = useTranslation(['fieldProblems', 'fieldLimits'])
  const { language } = i18n
  const labels: Record<string, string> = i18n.getResourceBundle(language, 'fields') ?? {}
  const known: Record<string, string> = i18n.getResourceBundle(language, 'fieldProblems') ?? {}
  const why = ({ code, message, limit, unit }: FieldError) => {
    const place = liquidPlace(message)
    if (place) return t('liquid', place)
    // The gateway's own words are English, and say more than a code.
    if (language === 'en') return message
    if (isHtmlRule(code, message)) return t('html', { words: message })
    if (limit !== undefined)
      return t(`fieldLimits:${code === 'TOO_SMALL' ? code : 'TOO_LARGE'}.${unit ?? 'value'}`, { count: limit })
    if (code === 'INVALID_TEMPLATE') return t('template', { words: message })
    return known[code] ?? message
  }
  return problem => {
    const name = problem.code === 'TEMPLATE_VARIABLE_MISSING' ? missingVariable(problem.message) : null
    if (name) return t('TEMPLATE_VARIABLE_MISSING', { name })
    const label = fieldLabel(problem.path, labels)
    return label === '' ? why(problem) : `${label}: ${why(problem)}`
  }
}
