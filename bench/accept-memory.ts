import { BODY } from './accept.ts'
import { measure, median } from './support/measure.ts'
import { residentMegabytes, startOurs } from './support/processes.ts'
import { writeResults } from './support/results.ts'

const MINUTES = Number(process.env.MINUTES ?? 5)

/** Resident memory over a long run: what a minute takes must be given back by the next. */
export async function benchAcceptMemory(): Promise<void> {
  const ours = await startOurs()
  const samples: number[][] = Array.from({ length: MINUTES }, () => [])
  const startedMs = Date.now()
  const sampling = setInterval(
    () => samples[Math.floor((Date.now() - startedMs) / 60_000)]?.push(residentMegabytes(ours.pid)),
    1000,
  )
  try {
    const target = { name: 'ours', url: ours.url, headers: { 'x-api-key': ours.apiKey }, body: JSON.stringify(BODY) }
    const figure = await measure(target, { connections: 64, seconds: MINUTES * 60, warmUpSeconds: 0.1 })
    const byMinute = samples.filter(minute => minute.length > 0).map(median)
    const growth = byMinute.at(-1)! / byMinute[0]!
    writeResults('accept-memory', [
      `64 connections for ${MINUTES} minutes, ${figure.perSecond.toFixed(0)} e-mails a second, refused ${figure.refused}.`,
      '',
      '| figure | target | measured |',
      '|---|---|---|',
      `| resident memory, last minute ÷ first minute | flat | ${growth.toFixed(2)} |`,
      '',
      `Median MB by minute: ${byMinute.map(value => value.toFixed(0)).join(', ')}.`,
    ])
  } finally {
    clearInterval(sampling)
    await ours.stop()
  }
}
