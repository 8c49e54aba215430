import { Alert, Button } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useConnection } from '../api/connection.ts'
import { isProblem } from '../api/problem.ts'
import { useFormat } from '../lib/format.ts'
import { ErrorState } from './ErrorState.tsx'
import { useErrorText } from './error-text.ts'

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
