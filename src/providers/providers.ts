import type { Logger } from 'pino'
import type { EmailToSend } from '../outbox/load.ts'
import type { AttemptDeps } from '../pipeline/attempt/attempt.ts'
import { periodically } from '../platform/periodic-task.ts'
import type { Database } from '../platform/postgres/pool.ts'
import type { Config } from '../settings/config.ts'
import { Breakers } from './breaker.ts'
import type { Provider } from './provider.ts'
import { sendRate } from './rate.ts'
import {
  closeBreaker,
  listProviders,
  openBreaker,
  registerProviders,
  reserveSending,
  returnProbe,
  saveProviderRate,
  slowSending,
  takeProbe,
} from './state.ts'
import { baseRate, makeCapture, makeProvider } from './table.ts'
import { MAX_AHEAD_MS, Throttles } from './throttle.ts'

const REFRESH_EVERY_MS = 1_000
const READ_QUOTAS_EVERY_MS = 300_000
const QUOTA_TIMEOUT_MS = 10_000
/** If the worker with the probe dies, another one may probe after this time. */
const PROBE_SECONDS = 60
/**
 * At most as many e-mails in flight as the rate allows in this time. More would wait after the fair claim: a quiet company would
 * wait behind them, and a restart would lose their reservations.
 */
const IN_FLIGHT_SECONDS = 5

export type Providers = AttemptDeps['providers'] & {
  /** How many e-mails may be in flight: in this process on the direct lane, over all workers on the BullMQ lane, where only the feeder asks. */
  maxInFlight: () => number
  /** Names of the providers with idempotency keys, which recognise a repeated call. */
  idempotentProviders: string[]
  start(): Promise<void>
  stop(): Promise<void>
}

/**
 * The providers of EMAIL_PROVIDER in their order, with circuit breakers and rates. `onChange` is called when mail may be sent again
 * or a probe is due. `makeClient`: the demo has clients of its own.
 */
export async function makeProviders(
  config: Config,
  db: Database,
  onChange: () => void,
  log: Logger,
  makeClient: typeof makeProvider = makeProvider,
): Promise<Providers> {
  const capture = makeCapture(db)
  const inOrder = await Promise.all(
    config.EMAIL_PROVIDER.map(entry => (entry === 'capture' ? capture : makeClient(entry, config))),
  )
  const names = inOrder.map(provider => provider.name)
  const breakers = new Breakers(inOrder, breakerStore(db, names), onChange, log)
  const rates = makeRates(config, db, names, log)
  const stops: (() => Promise<void>)[] = []

  async function refresh(): Promise<void> {
    const readMs = performance.now()
    rates.refresh(await listProviders(db.short, names), readMs)
    await breakers.refresh()
  }
  const readQuotas = () => saveQuotas(inOrder, db, breakers, log).then(refresh)
  const failed = (what: string) => (error: unknown) => log.warn({ err: error }, what)

  return {
    // Mail of test keys never leaves the gateway. The call of an unknown send is repeated at its own provider.
    route: async email =>
      email.test ? capture : email.unresolvedAttempt ? resume(email, breakers, capture) : breakers.route(),
    notCalled: provider => breakers.notCalled(provider),
    // Failures of capture are simulated, so they must not open its breaker.
    report(provider, result, call) {
      if (provider === capture) return breakers.report(provider, null)
      rates.report(provider, result, call)
      breakers.reportResult(provider, result)
    },
    waitForRate: sendRate({
      ratePerSecond: name => (name === capture.name ? null : rates.rateOf(name)),
      slowdowns: name => rates.slowdowns(name),
      reserve: (name, recipients, rate) => reserve(db, rates, { name, recipients, rate }),
    }),
    maxInFlight: () => Math.min(breakers.maxInFlight(), maxInFlight(breakers, rates)),
    idempotentProviders: idempotentAmong([capture, ...inOrder]),
    async start() {
      await registerProviders(db.pool, names)
      await refresh()
      stops.push(periodically(REFRESH_EVERY_MS, refresh, failed('Could not read the state of the providers')))
      const quotasNotRead = failed('Could not read the quotas of the providers')
      stops.push(periodically(READ_QUOTAS_EVERY_MS, readQuotas, quotasNotRead))
      void readQuotas().catch(quotasNotRead)
    },
    async stop() {
      for (const stop of stops) await stop()
      await breakers.flush()
      await Promise.all(inOrder.map(provider => provider.close()))
    },
  }
}

/**
 * Also Resend after it was taken out of EMAIL_PROVIDER: what it may have taken waits for it or for evidence, and is not sent by
 * another provider.
 */
const idempotentAmong = (providers: Provider[]) => [
  ...new Set(['resend', ...providers.filter(one => one.recognisesAttempts).map(one => one.name)]),
]

function resume(email: EmailToSend, breakers: Breakers, capture: Provider): Provider | Promise<Provider | null> {
  const name = email.unresolvedAttempt!.provider
  return name === capture.name ? capture : breakers.named(name)
}

function breakerStore(db: Database, names: string[]) {
  return {
    list: () => listProviders(db.short, names),
    open: (failure: Parameters<typeof openBreaker>[1]) => openBreaker(db.short, failure),
    close: (name: string) => closeBreaker(db.short, name),
    takeProbe: (name: string) => takeProbe(db.short, name, PROBE_SECONDS),
    returnProbe: (name: string) => returnProbe(db.short, name),
  }
}

function makeRates(config: Config, db: Database, names: string[], log: Logger): Throttles {
  return new Throttles(
    names,
    (name, learned) => baseRate(name, config.SEND_RATE_PER_SECOND ?? null, learned),
    {
      slow: change => slowSending(db.short, change),
      learnRate: (name, rate) => saveProviderRate(db.short, name, rate),
    },
    log,
  )
}

type Reservation = { name: string; recipients: number; rate: number }

/** Returns how long to wait in milliseconds; null: too long, nothing was reserved. */
async function reserve(db: Database, rates: Throttles, { name, recipients, rate }: Reservation) {
  const { waitMs, reserved } = await reserveSending(db.short, name, recipients, rate, MAX_AHEAD_MS)
  if (!reserved) rates.setNextFree(name, waitMs)
  return reserved ? waitMs : null
}

/** 0 while the reservations of the next provider reach far into the future. */
function maxInFlight(breakers: Breakers, rates: Throttles): number {
  const next = breakers.first()
  if (!next) return Number.POSITIVE_INFINITY
  if (rates.isBusy(next.name)) return 0
  const rate = rates.rateOf(next.name)
  return rate === null ? Number.POSITIVE_INFINITY : Math.max(1, Math.ceil(rate * IN_FLIGHT_SECONDS))
}

async function saveQuotas(providers: Provider[], db: Database, breakers: Breakers, log: Logger): Promise<void> {
  for (const provider of providers) {
    if (!provider.learnQuota) continue
    try {
      const { recipientsPerSecond, paused } = await provider.learnQuota(AbortSignal.timeout(QUOTA_TIMEOUT_MS))
      await saveProviderRate(db.pool, provider.name, recipientsPerSecond)
      if (paused) breakers.park(provider, paused)
    } catch (error) {
      const hint =
        'Could not read the quota: check the credentials, and that they allow ses:GetAccount. Until then the rate is SEND_RATE_PER_SECOND, the last known rate, or 1 per second'
      log.warn({ err: error, provider: provider.name }, hint)
    }
  }
}
