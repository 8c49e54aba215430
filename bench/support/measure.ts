import autocannon from 'autocannon'

export type Target = {
  name: string
  url: string
  headers: Record<string, string>
  body: string
  /** In turn, instead of the one. */
  bodies?: string[]
  path?: string
}
export type Figures = { perSecond: number; p50Ms: number; p99Ms: number; refused: number }

export type Load = { connections: number; seconds: number; warmUpSeconds: number }

/** One round against one target: a warm-up that does not count, then the measurement. */
export async function measure(target: Target, load: Load): Promise<Figures> {
  if (load.warmUpSeconds > 0) await fire(target, load.connections, load.warmUpSeconds)
  const result = await fire(target, load.connections, load.seconds)
  return {
    perSecond: result.requests.total / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    refused: result.non2xx + result.errors + result.timeouts,
  }
}

function fire(target: Target, connections: number, seconds: number) {
  return autocannon({
    url: target.url + (target.path ?? '/v1/email/send'),
    method: 'POST',
    headers: { 'content-type': 'application/json', ...target.headers },
    body: target.body,
    ...(target.bodies && { requests: target.bodies.map(body => ({ body })) }),
    connections,
    duration: seconds,
  })
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** `median (lowest–highest)` */
export function spread(values: number[], digits = 0): string {
  const show = (value: number) => value.toFixed(digits)
  return `${show(median(values))} (${show(Math.min(...values))}–${show(Math.max(...values))})`
}

/** Ratios round by round, since what slows the machine slows both. */
export function ratios(ours: number[], reference: number[]): number[] {
  return ours.map((value, round) => value / reference[round]!)
}
