import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { ConnectionBar } from './ConnectionBar.tsx'
import { ErrorState } from './ErrorState.tsx'

/** A view that could not be opened: trying again loads its data anew. */
export function RouteError({ error }: ErrorComponentProps) {
  const router = useRouter()
  return (
    <>
      <ConnectionBar />
      <ErrorState error={error} reset={() => void router.invalidate()} />
    </>
  )
}
