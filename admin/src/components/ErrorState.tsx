import { Button, Stack, Text, Title } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { isProblem } from '../api/problem.ts'
import classes from './EmptyState.module.css'
import { useErrorText } from './error-text.ts'
import { ButtonLink } from './links.tsx'

/** Where nothing could be loaded: what failed, and a way to try again. */
export function ErrorState({ error, reset }: { error: unknown; reset?: (() => void) | undefined }) {
  const { t } = useTranslation()
  const errorText = useErrorText()
  // To ask again for what does not exist is of no use.
  const isMissing = isProblem(error) && error.status === 404
  return (
    <Stack className={classes.box} role="alert" gap="xs">
      <Title order={2} size="h4">
        {t(isMissing ? 'errors.notFoundTitle' : 'errors.title')}
      </Title>
      <Text>{errorText(error)}</Text>
      {isProblem(error) && error.requestId && (
        <Text size="sm" className="quiet">
          {t('errors.requestId')}: <span className="mono">{error.requestId}</span>
        </Text>
      )}
      <div>
        {isMissing ? (
          <ButtonLink to="/" variant="default">
            {t('errors.home')}
          </ButtonLink>
        ) : (
          <Button variant="default" onClick={reset ?? (() => location.reload())}>
            {t('errors.retry')}
          </Button>
        )}
      </div>
    </Stack>
  )
}
