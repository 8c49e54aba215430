import { Skeleton, Stack } from '@mantine/core'
import { useConnection } from '../api/connection.ts'
import { offline } from '../api/problem.ts'
import { askConnection } from '../api/query.ts'
import { ErrorState } from './ErrorState.tsx'

/** While a view itself is loaded. Its script has no time limit: it comes when the gateway goes on, and until then the view says so. */
export function Pending() {
  const isOffline = useConnection().state === 'offline'
  if (isOffline) return <ErrorState error={offline()} reset={() => void askConnection()} />
  return (
    <Stack gap="md" aria-busy>
      <Skeleton height={26} width={180} />
      <Skeleton height={36} />
      <Skeleton height={240} />
    </Stack>
  )
}
