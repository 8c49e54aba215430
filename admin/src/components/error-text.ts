import { useTranslation } from 'react-i18next'
import { type FieldError, isProblem } from '../api/problem.ts'
import { fieldLabel, fieldName, plainWords } from '../lib/field-problem.ts'

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

/** Why an e-mail was not sent: its code in the reader's language, with the words that were kept, which name the detail. */
export function useFailureText(): (code: string | null | undefined, words: string) => string {
  const { i18n } = useTranslation()
  const known: Record<string, string> = i18n.getResourceBundle(i18n.language, 'failures') ?? {}
  return (code, words) => (code && known[code] ? `${known[code].replace(/\.$/, '')} (“${words}”)` : words)
}

/** What is wrong with one field: its label, as forms have it, and why. The template engine's own words are a detail at most. */
export function useFieldProblemText(): (problem: FieldError) => string {
  const { t, i18n } = useTranslation(['fieldProblems', 'fieldLimits', 'templateRules'])
  const { language } = i18n
  const labels: Record<string, string> = i18n.getResourceBundle(language, 'fields') ?? {}
  const known: Record<string, string> = i18n.getResourceBundle(language, 'fieldProblems') ?? {}
  const why = ({ path, code, message, limit, unit, rule, name }: FieldError) => {
    const words = plainWords(message)
    if (rule && !(language === 'en' && /^(HTML|CSV)_/.test(rule)))
      return t(`templateRules:${rule}`, { words, name: name ?? words, limit })
    // The gateway's own words are English, and say more than a code.
    if (language === 'en') return words
    if (limit !== undefined)
      return t(`fieldLimits:${code === 'TOO_SMALL' ? code : 'TOO_LARGE'}.${unit ?? 'value'}`, { count: limit })
    if (code === 'INVALID_TEMPLATE') return t('template', { words })
    return known[`${fieldName(path)}_${code}`] ?? known[code] ?? t('other', { words })
  }
  return problem => {
    const { code, name, path, line, column } = problem
    if (code === 'TEMPLATE_VARIABLE_MISSING' && name) return t('TEMPLATE_VARIABLE_MISSING', { name })
    const label = fieldLabel(path, labels)
    const what = line === undefined ? why(problem) : t('place', { line, column, what: why(problem) })
    return label === '' ? what : `${label}: ${what}`
  }
}
