import { QueryCache, QueryClient } from '@tanstack/react-query'
import { connection } from './connection.ts'
import { isProblem } from './problem.ts'
import { sessionEnded } from './session.ts'

/** While the gateway is away it is asked this often; then every view asks again. */
const PROBE_MS = 3_000

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // What is on the screen stays there; the probe below asks again when the gateway is back.
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

let probe: ReturnType<typeof setInterval> | undefined
connection.subscribe(() => {
  const isUp = connection.get().state === 'up'
  if (!isUp && !probe) probe = setInterval(() => void fetchLive(), PROBE_MS)
  if (isUp && probe) {
    clearInterval(probe)
    probe = undefined
    void queryClient.invalidateQueries()
  }
})

async function fetchLive(): Promise<void> {
  try {
    connection.answered((await fetch('/health/ready')).status)
  } catch {
    connection.lost()
  }
}
