import { QueryClient } from '@tanstack/react-query'
import { whenStreamEnds, whenStreamIsSilent } from '../lib/live.ts'
import { whenTimedOut, whenUnauthorized } from './client.ts'
import { connection } from './connection.ts'
import { sessionEnded, sessionQuery } from './session.ts'

const PROBE_MS = { up: 15_000, away: 3_000 }
/** The gateway answers for its database within a second or two. */
const PROBE_ANSWER_MS = 5_000

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // What is on the screen stays there; watchConnection asks again when the gateway is back.
      retry: false,
      refetchOnWindowFocus: true,
      networkMode: 'always',
    },
    mutations: { retry: false, networkMode: 'always' },
  },
})

whenUnauthorized(() => sessionEnded(queryClient))

/** A stream that ended may be that of a session that did: then the answer leads to the sign-in page. */
whenStreamEnds(() => void queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 }).catch(() => {}))

/** One silent stream or slow request may have another reason: the banner comes only if the gateway answers nothing else either. */
whenStreamIsSilent(() => void askConnection())
whenTimedOut(() => void askConnection())

/** Whether the gateway can work is asked while the page is visible, and more often while it cannot; then every view asks again. */
let timer: ReturnType<typeof setTimeout>
let wasUp = true

async function probe(): Promise<void> {
  clearTimeout(timer)
  if (!document.hidden) await askConnection()
}

/** Whether the gateway answers, found out now. */
export async function askConnection(): Promise<void> {
  try {
    connection.answered((await fetch('/health/ready', { signal: AbortSignal.timeout(PROBE_ANSWER_MS) })).status)
  } catch {
    connection.lost()
  }
  plan()
}

function plan(): void {
  clearTimeout(timer)
  timer = setTimeout(() => void probe(), connection.get().state === 'up' ? PROBE_MS.up : PROBE_MS.away)
}

export function watchConnection(): void {
  document.addEventListener('visibilitychange', () => void probe())
  connection.subscribe(() => {
    const isUp = connection.get().state === 'up'
    if (isUp && !wasUp) void queryClient.invalidateQueries()
    wasUp = isUp
    plan()
  })
  plan()
}
