import type { Logger } from 'pino'
import { type Config, silenceAwsSdkWarning } from '../config.ts'
import { type CaptureItem, countThrottled, putCaptured } from '../db/capture-inbox.ts'
import type { EmailToSend } from '../db/outbox/load.ts'
import { type Database, writeBatchOrSingly } from '../db/pool.ts'
import {
  closeProvider,
  knowProviders,
  learnRate,
  listProviders,
  openProvider,
  reserveSending,
  slowSending,
  takeProbe,
} from '../db/providers.ts'
import type { AttemptDeps } from '../pipeline/attempt.ts'
import { Breakers } from '../providers/breaker.ts'
import { captureProvider } from '../providers/capture.ts'
import type { Provider } from '../providers/provider.ts'
import { sendRate } from '../providers/rate.ts'
import { MAX_AHEAD_MS, Throttles } from '../providers/throttle.ts'
import { Batcher } from '../runtime/batcher.ts'
import { periodically } from '../runtime/periodic-task.ts'
import type { Settings } from '../settings.ts'

const REFRESH_MS = 1_000
const LEARN_EVERY_MS = 300_000
const LEARN_TIMEOUT_MS = 10_000
/** A probe that is never heard of again (its worker died) is given to another after this. */
const PROBE_SECONDS = 60
/** The sandbox's rate: SES throttles what is faster, and this stands until the account has been asked. */
const UNLEARNT_RATE = 1
/**
 * In hand is only what the rate lets go in this time. More would wait in hand instead of in line: a quiet company behind it, a
 * restart for places on the timeline that nobody uses.
 */
const IN_HAND_SECONDS = 5
const CAPTURE_BATCH = { maxItems: 256, concurrency: 2 }

export type Providers = Pick<AttemptDeps, 'route' | 'report' | 'pace'> & {
  mayClaim: () => number
  /** Names of those that recognise an attempt when asked again. */
  recognising: string[]
  start(): Promise<void>
  stop(): Promise<void>
}

/** The providers of EMAIL_PROVIDER in their order, their breakers and their rates. */
export async function makeProviders(config: Config, db: Database, nudge: () => void, log: Logger): Promise<Providers> {
  const capture = makeCapture(db)
  const inOrder = await Promise.all(
    config.EMAIL_PROVIDER.map(entry => (entry === 'capture' ? capture : makeProvider(entry, config))),
  )
  const names = inOrder.map(provider => provider.name)
  const breakers = new Breakers(inOrder, breakerStore(db, names), nudge, log)
  const rates = new Throttles(
    names,
    (name, learnt) => baseRate(name, config.SEND_RATE_PER_SECOND ?? null, learnt),
    { slow: change => slowSending(db.hot, change), learnRate: (name, rate) => learnRate(db.hot, name, rate) },
    log,
  )
  const stops: (() => void)[] = []

  async function refresh(): Promise<void> {
    const lookedMs = performance.now()
    rates.refresh(await listProviders(db.hot, names), lookedMs)
    await breakers.refresh()
  }
  async function reserve(name: string, recipients: number, rate: number): Promise<number | null> {
    const { waitMs, reserved } = await reserveSending(db.hot, name, recipients, rate, MAX_AHEAD_MS)
    if (!reserved) rates.noteFree(name, waitMs)
    return reserved ? waitMs : null
  }
  /** What the provider that is next takes in a few seconds, and nothing while it takes nothing for long. */
  function inFlight(): number {
    const next = breakers.first()
    if (!next) return Number.POSITIVE_INFINITY
    return rates.isBusy(next.name) ? 0 : inHandAt(rates.rateOf(next.name))
  }
  const learn = () => learnQuotas(inOrder, db, breakers, log).then(refresh)
  const failed = (what: string) => (error: unknown) => log.warn({ err: error }, what)

  return {
    // A test key's mail never leaves the gateway. An unknown outcome is asked about where it arose.
    route: email => (email.test ? capture : email.resumed ? resume(email, breakers, capture) : breakers.route()),
    // What capture refuses is made up: it shows that capture works.
    report(provider, result, callMs) {
      if (provider === capture) return breakers.report(provider, null)
      rates.report(provider, result, callMs)
      breakers.reportResult(provider, result)
    },
    pace: sendRate({
      ratePerSecond: name => (name === capture.name ? null : rates.rateOf(name)),
      slowdowns: name => rates.slowdowns(name),
      reserve,
    }),
    mayClaim: () => Math.min(breakers.mayClaim(), inFlight()),
    recognising: [...new Set([capture, ...inOrder])].filter(one => one.recognisesAttempts).map(one => one.name),
    async start() {
      await knowProviders(db.pool, names)
      await refresh()
      stops.push(periodically(REFRESH_MS, refresh, failed('Could not read the state of the providers')))
      const notLearnt = failed('Could not ask the providers for their quota')
      stops.push(periodically(LEARN_EVERY_MS, learn, notLearnt))
      void learn().catch(notLearnt)
    },
    async stop() {
      for (const stop of stops) stop()
      await breakers.settled()
      await Promise.all(inOrder.map(provider => provider.close()))
    },
  }
}

function resume(email: EmailToSend, breakers: Breakers, capture: Provider): Provider | Promise<Provider | null> {
  const name = email.resumed!.provider
  return name === capture.name ? capture : breakers.named(name)
}

function makeCapture(db: Database): Provider {
  const captures = new Batcher({
    ...CAPTURE_BATCH,
    flush: (batch: CaptureItem[]) => writeBatchOrSingly(batch, some => putCaptured(db.hot, some)),
  })
  return captureProvider({ put: item => captures.add(item), timesThrottled: id => countThrottled(db.hot, id) })
}

/** config.ts has made sure that what each needs is there. Loaded when used: the SDK alone takes a third of a second. */
export async function makeProvider(entry: string, config: Settings): Promise<Provider> {
  if (entry === 'resend') {
    const { resendProvider } = await import('../providers/resend.ts')
    const { RESEND_API_KEY, RESEND_BASE_URL } = config
    return resendProvider({ apiKey: RESEND_API_KEY!, ...(RESEND_BASE_URL && { baseUrl: RESEND_BASE_URL }) })
  }
  if (entry === 'smtp') {
    const { smtpProvider } = await import('../providers/smtp.ts')
    return smtpProvider({ url: config.SMTP_URL!, maxConnections: config.WORKER_CONCURRENCY })
  }
  silenceAwsSdkWarning()
  const { sesProvider } = await import('../providers/ses.ts')
  return sesProvider({
    name: entry,
    region: entry.split(':')[1] ?? config.AWS_REGION!,
    configurationSet: config.SES_CONFIGURATION_SET ?? null,
    ...(config.AWS_ENDPOINT_URL_SESV2 && { endpoint: config.AWS_ENDPOINT_URL_SESV2 }),
  })
}

function breakerStore(db: Database, names: string[]) {
  return {
    list: () => listProviders(db.hot, names),
    open: (trouble: Parameters<typeof openProvider>[1]) => openProvider(db.hot, trouble),
    close: (name: string) => closeProvider(db.hot, name),
    takeProbe: (name: string) => takeProbe(db.hot, name, PROBE_SECONDS),
  }
}

/** The operator knows better than the account of SES what SES is to be given; a limit that comes with answers is one. */
function baseRate(name: string, configured: number | null, learnt: number | null): number | null {
  if (name === 'capture') return null
  if (name.startsWith('ses')) return configured ?? learnt ?? UNLEARNT_RATE
  return configured !== null && learnt !== null ? Math.min(configured, learnt) : (configured ?? learnt)
}

function inHandAt(rate: number | null): number {
  return rate === null ? Number.POSITIVE_INFINITY : Math.max(1, Math.ceil(rate * IN_HAND_SECONDS))
}

async function learnQuotas(providers: Provider[], db: Database, breakers: Breakers, log: Logger): Promise<void> {
  for (const provider of providers) {
    if (!provider.learnQuota) continue
    try {
      const { recipientsPerSecond, paused } = await provider.learnQuota(AbortSignal.timeout(LEARN_TIMEOUT_MS))
      await learnRate(db.pool, provider.name, recipientsPerSecond)
      if (paused) breakers.park(provider, paused)
    } catch (error) {
      const hint =
        'Could not ask for the quota: check the credentials, and that they allow ses:GetAccount. Until then it is SEND_RATE_PER_SECOND, the last known rate, or 1 a second'
      log.warn({ err: error, provider: provider.name }, hint)
    }
  }
}
