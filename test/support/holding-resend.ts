import { uuidv7 } from '../../src/platform/text/uuid.ts'
import { answerJson, readBody, serve } from './fake-http.ts'
import type { ResendBody } from './fake-resend.ts'

type Held = { outboxId: string; to: string; atMs: number }

export type HoldingResend = {
  env: Record<string, string>
  /** Every request, in the order of arrival. */
  arrived: Held[]
  /** The most that were being answered at once. */
  most: () => number
  /** Those held so far are answered, and none is held from now on. */
  release: () => void
  /** Recipients whose local part begins with `slow` are held again, and what was seen is forgotten. */
  hold: () => void
  close: () => Promise<void>
}

/** Resend, with recipients that hang until they are released. The others are answered after `latencyMs`. */
export async function startHoldingResend(latencyMs = 0): Promise<HoldingResend> {
  const arrived: Held[] = []
  let [now, most] = [0, 0]
  let release = () => {}
  let released: Promise<void> = Promise.resolve()
  const hold = () => {
    arrived.length = 0
    most = now
    released = new Promise(resolve => {
      release = resolve
    })
  }
  hold()
  const server = await serve(async (request, response) => {
    most = Math.max(most, ++now)
    response.once('close', () => now--)
    const body: ResendBody = JSON.parse(await readBody(request))
    const outboxId = body.tags?.find(tag => tag.name === 'outbox_id')?.value ?? ''
    const to = body.to[0]!
    arrived.push({ outboxId, to, atMs: performance.now() })
    if (to.startsWith('slow')) await released
    else await new Promise(resolve => setTimeout(resolve, latencyMs))
    answerJson(response, 200, { id: uuidv7() })
  })
  return {
    env: { EMAIL_PROVIDER: 'resend', RESEND_API_KEY: 're_test', RESEND_BASE_URL: server.url },
    arrived,
    most: () => most,
    release: () => release(),
    hold,
    async close() {
      release()
      await server.close()
    },
  }
}
