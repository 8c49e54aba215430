import { QueryCache, QueryClient } from '@tanstack/react-query'
import { connection } from './connection.ts'
import { isProblem } from './problem.ts'
import { sessionEnded } from './session.ts'

const PROBE_MS = { up: 15_000, away: 3_000 }

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
  queryCache: new QueryCache({
    onError: error => {
      if (isProblem(error) && error.status === 401) sessionEnded(queryClient)
    },
  }),
})

/** Whether the gateway can work is asked while the page is visible, and more often while it cannot; then every view asks again. */
let timer: ReturnType<typeof setTimeout>
let wasUp = true

async function probe(): Promise<void> {
  clearTimeout(timer)
  if (document.hidden) return
  try {
    connection.answered((await fetch('/health/ready')).status)
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
