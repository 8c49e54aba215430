import { Alert } from '@mantine/core'
import { type RefObject, useEffect, useRef, useState } from 'react'
import { type ApiProblem, isProblem } from '../api/problem.ts'
import { fieldName } from '../lib/field-problem.ts'
import { useErrorText, useFieldProblemText } from './error-text.ts'

/** What is wrong with a field, for its `error`; undefined: nothing. */
export type ErrorOf = (field: string) => string | undefined

/** Refusals that are about one field and name none. */
const FIELD_OF_CODE: Record<string, string> = { COMPANY_EXISTS: 'name', TEMPLATE_EXISTS: 'type' }

const fieldOf = ({ path }: ApiProblem['errors'][number]) => fieldName(path)

/**
 * A refusal is shown at the fields that it is about, as far as the form has them (`fields`), otherwise above the buttons. The focus goes to
 * what is wrong: the button that was clicked is disabled meanwhile, and the browser would drop it out of the dialog.
 */
export function useRefusal(fields: readonly string[] = []) {
  const form = useRef<HTMLDivElement>(null)
  const [error, setError] = useState<unknown>(null)
  const fieldText = useFieldProblemText()
  const errorText = useErrorText()
  useFocusOnRefusal(form, error)
  const problems = isProblem(error) ? error.errors : []
  const ofCode = isProblem(error) && problems.length === 0 ? FIELD_OF_CODE[error.code] : undefined
  const errorOf: ErrorOf = field => {
    if (field === ofCode) return errorText(error)
    const own = problems.filter(problem => fieldOf(problem) === field)
    return own.length > 0 ? own.map(fieldText).join('; ') : undefined
  }
  const isShown =
    ofCode !== undefined
      ? fields.includes(ofCode)
      : problems.length > 0 && problems.every(problem => fields.includes(fieldOf(problem)))
  const alert = error !== null && !isShown && (
    <Alert color="red" variant="light" role="alert" tabIndex={-1} data-refusal>
      {errorText(error)}
    </Alert>
  )
  return { form, errorOf, alert, setError }
}

function useFocusOnRefusal(form: RefObject<HTMLElement | null>, error: unknown) {
  useEffect(() => {
    if (error === null) return
    const wrong = ['[aria-invalid="true"]:not([disabled])', '[data-refusal]']
    wrong
      .map(selector => form.current?.querySelector<HTMLElement>(selector))
      .find(Boolean)
      ?.focus()
  }, [form, error])
}
