import { Skeleton, Stack } from '@mantine/core'
import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { connection, useConnection } from '../api/connection.ts'
import { isProblem, offline } from '../api/problem.ts'
import { askConnection } from '../api/query.ts'
import { Page } from './Page.tsx'
import { ConnectionBar, EmptyState, ErrorState } from './states.tsx'
import { ButtonLink } from './values.tsx'

const OFFLINE = offline()

/** A view that could not be opened: trying again loads its data anew, also by itself once the gateway is back. */
export function RouteError({ error }: ErrorComponentProps) {
  const router = useRouter()
  const isScriptMissing = isChunkError(error)
  // A reload while the gateway is away would show a page of the browser.
  const retry = () =>
    isScriptMissing
      ? void askConnection().then(() => connection.get().state === 'up' && location.reload())
      : void router.invalidate()
  useRetryWhenBack(isScriptMissing || (isProblem(error) && error.isTemporary), retry)
  const { state } = useConnection()
  useEffect(() => {
    if (isScriptMissing) void askConnection().then(reloadOnce)
  }, [isScriptMissing])
  return <ErrorState error={isScriptMissing && state !== 'up' ? OFFLINE : error} reset={retry} />
}

const RELOADED_KEY = 'email-gateway-reloaded-at'
const RELOAD_AGAIN_MS = 30_000

/** The gateway answers and the script is not there: another version was started meanwhile, and the page belongs to the one before. */
function reloadOnce(): void {
  const before = Number(sessionStorage.getItem(RELOADED_KEY))
  if (connection.get().state !== 'up' || Date.now() - before < RELOAD_AGAIN_MS) return
  sessionStorage.setItem(RELOADED_KEY, String(Date.now()))
  location.reload()
}

/** In place of the frame, which has the bar otherwise. */
export function FrameError(props: ErrorComponentProps) {
  return (
    <>
      <ConnectionBar />
      <RouteError {...props} />
    </>
  )
}

function useRetryWhenBack(isAway: boolean, retry: () => void): void {
  const { state } = useConnection()
  const wasDown = useRef(false)
  useEffect(() => {
    if (state !== 'up') wasDown.current = true
    else if (isAway && wasDown.current) {
      wasDown.current = false
      retry()
    }
  })
}

/** A script of a view could not be fetched, in the words of Chromium, Firefox and Safari. */
const WORDS = /dynamically imported module|importing a module script failed|unable to preload/i

const isChunkError = (error: unknown): boolean => error instanceof Error && WORDS.test(error.message)

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

export function NotFound() {
  const { t } = useTranslation()
  return (
    <Page title={t('errors.notFoundTitle')}>
      <EmptyState title={t('errors.notFound')}>
        <div>
          <ButtonLink to="/" variant="default">
            {t('errors.home')}
          </ButtonLink>
        </div>
      </EmptyState>
    </Page>
  )
}
