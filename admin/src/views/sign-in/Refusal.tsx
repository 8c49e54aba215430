import { Alert } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { isProblem } from '../../api/problem.ts'
import { useErrorText } from '../../components/error-text.ts'

/** Why nobody was signed in. */
export function Refusal({ error }: { error: Error }) {
  const { t } = useTranslation('signIn')
  const errorText = useErrorText()
  if (isProblem(error, 'TOO_MANY_LOGINS')) return <Throttled seconds={error.retryAfterSeconds ?? 1} />
  if (isProblem(error, 'SIGN_IN_LINK_INVALID')) return <Message text={t('linkInvalid')} />
  return <Message text={isProblem(error) && error.status === 401 ? t('wrong') : errorText(error)} />
}

function Message({ text }: { text: string }) {
  return (
    <Alert color="red" role="alert" variant="light">
      {text}
    </Alert>
  )
}

/** Counts down; only its beginning and its end are announced to screen readers. */
function Throttled({ seconds }: { seconds: number }) {
  const { t } = useTranslation('signIn')
  const [left, setLeft] = useState(seconds)
  useEffect(() => {
    const timer = setInterval(() => setLeft(now => Math.max(0, now - 1)), 1_000)
    return () => clearInterval(timer)
  }, [])
  if (left === 0)
    return (
      <Alert color="blue" role="status" variant="light">
        {t('mayTry')}
      </Alert>
    )
  return <Message text={t('tooMany', { count: left })} />
}
