import { QueryClient } from '@tanstack/react-query'
import { whenTimedOut, whenUnauthorized } from './client.ts'
import { connection } from './connection.ts'
import { sessionEnded } from './session.ts'

const PROBE_MS = 3_000
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

/** One slow request may have another reason: the banner comes only if the gateway answers nothing else either. */
whenTimedOut(() => void askConnection())

/** Whether the gateway answers, found out now. */
export async function askConnection(): Promise<void> {
  try {
    connection.answered((await fetch('/health/ready', { signal: AbortSignal.timeout(PROBE_ANSWER_MS) })).status)
  } catch {
    connection.lost()
  }
}

/** While the gateway is away it is asked whether it is back, also where the frame and its polling are not there; then every view asks again. */
export function watchConnection(): void {
  setInterval(() => {
    if (connection.get().state !== 'up' && !document.hidden) void askConnection()
  }, PROBE_MS)
  let wasUp = true
  connection.subscribe(() => {
    const isUp = connection.get().state === 'up'
    if (isUp && !wasUp) void queryClient.invalidateQueries()
    wasUp = isUp
  })
}
