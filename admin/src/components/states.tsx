import { Alert, Button, Stack, Text, Title } from '@mantine/core'
import { IconPlugConnectedX } from '@tabler/icons-react'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useConnection } from '../api/connection.ts'
import { isProblem } from '../api/problem.ts'
import { useFormat } from '../lib/format.ts'
import { useErrorText } from './error-text.ts'
import classes from './states.module.css'
import { ButtonLink, CodeBlock } from './values.tsx'

type QueryStateProps<T> = {
  query: UseQueryResult<T>
  /** Of the same shape as what comes, so that nothing jumps. */
  skeleton: ReactNode
  children: (data: T) => ReactNode
}

/** Shows the skeleton, the error, or the data; data that could not be refreshed stays, under a line that says since when. */
export function QueryState<T>({ query, skeleton, children }: QueryStateProps<T>) {
  if (query.data !== undefined)
    return (
      <>
        <StaleBar query={query} />
        {children(query.data)}
      </>
    )
  return query.error ? <ErrorState error={query.error} reset={() => void query.refetch()} /> : skeleton
}

/** Nothing while the whole connection is down: the bar of the frame says that already. */
export function StaleBar({ query }: { query: Pick<UseQueryResult, 'error' | 'dataUpdatedAt' | 'refetch'> }) {
  const { t } = useTranslation()
  const format = useFormat()
  const errorText = useErrorText()
  const isDown = useConnection().state !== 'up'
  if (!query.error || (isDown && isProblem(query.error) && query.error.isTemporary)) return null
  return (
    <Alert color="yellow" variant="light" py="xs" role="alert">
      {t('connection.stale', { time: format.time(query.dataUpdatedAt), reason: errorText(query.error) })}{' '}
      <Button size="compact-xs" variant="default" onClick={() => void query.refetch()}>
        {t('errors.retry')}
      </Button>
    </Alert>
  )
}

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

type EmptyStateProps = {
  title: string
  /** How it gets here. */
  hint?: ReactNode
  /** The command that brings the first one. */
  command?: string
  children?: ReactNode
}

/** What belongs here, and how it gets here. */
export function EmptyState({ title, hint, command, children }: EmptyStateProps) {
  return (
    <Stack className={classes.box} gap="xs">
      <Title order={2} size="h5">
        {title}
      </Title>
      {hint && <Text className="quiet">{hint}</Text>}
      {command && <CodeBlock code={command} />}
      {children}
    </Stack>
  )
}

/** Since when the gateway or its database does not answer. The data on the screen stays. */
export function ConnectionBar() {
  const { t } = useTranslation()
  const format = useFormat()
  const connection = useConnection()
  if (connection.state === 'up') return null
  return (
    <Alert color="yellow" variant="light" mb="md" py="xs" role="alert" icon={<IconPlugConnectedX size={18} />}>
      {t(`connection.${connection.state}`, { time: format.time(connection.since) })}
    </Alert>
  )
}
