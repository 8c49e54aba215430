import { describe, expect, test } from 'vitest'
import type { CompanyStandingRow } from '../../companies/reputation.ts'
import { SES_EVENT_TYPES } from '../../providers/ses/names.ts'
import { smtpTls } from '../../providers/smtp/smtp.ts'
import type { ProviderRow } from '../../providers/state.ts'
import type { InUse } from '../../settings/processes.ts'
import {
  checkAutovacuum,
  checkClock,
  checkConnections,
  checkDatabase,
  checkDisk,
  checkDurability,
  checkIdleTransactions,
  checkLocks,
  checkPartitions,
  checkSessions,
  type ServerFacts,
} from './database.ts'
import { checkEvents, type EventSetup } from './events.ts'
import { checkRelayTls, checkResendDomains, senderDomains } from './probe.ts'
import { checkMemory } from './redis.ts'
import { checkSes, type SesFacts } from './ses.ts'
import { checkSender } from './settings.ts'
import type { Verdict } from './verdict.ts'
import {
  checkApi,
  checkBacklog,
  checkDeadLetters,
  checkInbox,
  checkLedger,
  checkProvider,
  checkStandings,
  checkWorkers,
  type Health,
} from './work.ts'

const HEALTH: Health = {
  version: 180_001,
  nowMs: Date.parse('2026-05-01T12:00:00Z'),
  partitionsUntil: '20260508',
  waiting: 0,
  held: 0,
  oldestWaitingSeconds: null,
  unknown: 0,
  deadLetters: 0,
  workers: [{ host: 'a', pid: 1, lane: 'direct', concurrency: 10 }],
  expiredLeases: 0,
}
const SERVER: ServerFacts = {
  fsync: true,
  fullPageWrites: true,
  synchronousCommit: 'on',
  autovacuum: true,
  maxConnections: 100,
  connections: 20,
  databaseBytes: 10_000_000,
  transactionAge: 1000,
  oldestTransactionSeconds: 1,
  oldestTransactionPid: 7,
  worstTable: { name: 'email_outbox_20260501', live: 10, dead: 5, vacuumedSecondsAgo: 60 },
  schemaVersion: 19,
  readOnly: null,
}
const verdict = ({ state, detail }: Verdict) => `${state}: ${detail}`

test('a real provider without EMAIL_FROM is warned of, with what mends it', () => {
  const unset = { EMAIL_FROM: 'Email Gateway <gateway@localhost.localdomain>' }
  const [check, ...others] = checkSender({ providers: ['smtp'], settings: unset })
  expect(verdict(check!)).toMatch(/^warning: EMAIL_FROM is not set: .* Set EMAIL_FROM=.* company update NAME/)
  expect(others).toEqual([])
  expect(checkSender({ providers: ['capture'], settings: unset })).toEqual([])
  expect(checkSender({ providers: ['smtp'], settings: { EMAIL_FROM: 'Shop <shop@example.com>' } })).toEqual([])
})

describe('the database', () => {
  test('of an old version is refused', () => {
    expect(verdict(checkDatabase(HEALTH, SERVER, 'embedded'))).toBe('ok: embedded, version 18, migrated to 19, 10 MB')
    expect(checkDatabase({ ...HEALTH, version: 140_005 }, SERVER, 'x').state).toBe('failed')
  })

  test('that is read-only is refused, with what mends it', () => {
    const of = (readOnly: ServerFacts['readOnly']) => verdict(checkDatabase(HEALTH, { ...SERVER, readOnly }, 'db:5432'))
    expect(of('standby')).toMatch(/^failed: db:5432 is a standby, .* set DATABASE_URL to the primary/)
    expect(of('setting')).toMatch(/^failed: db:5432 is read-only: .* default_transaction_read_only is on/)
  })

  test('that may lose what was committed fails, with the statement that mends it', () => {
    expect(checkDurability(SERVER)).toMatchObject({ state: 'ok' })
    for (const change of [{ fsync: false }, { fullPageWrites: false }, { synchronousCommit: 'off' }]) {
      expect(verdict(checkDurability({ ...SERVER, ...change }))).toMatch(
        /^failed: .* alter system set (\w+) = on; select pg_reload_conf\(\)$/,
      )
    }
  })

  test('whose connections run out, now or when every process opens its share, is warned of', () => {
    expect(checkConnections(SERVER, 3)).toEqual([])
    expect(checkConnections({ ...SERVER, connections: 95 }, 1).map(verdict)).toEqual([
      'warning: 95 of max_connections 100 are in use; raise it with: alter system set max_connections = 200, and restart the server',
    ])
    expect(checkConnections(SERVER, 4).map(verdict)).toEqual([
      'warning: 4 processes may open 112 connections under load, and max_connections is 100; raise it with: alter system set max_connections = 200, and restart the server',
    ])
  })

  test.each([
    [{ autovacuum: false }, /^failed: .*alter system set autovacuum = on/],
    [{ transactionAge: 900_000_000 }, /^failed: .*900 million .*vacuumdb --all --freeze/],
    [{ oldestTransactionSeconds: 7200 }, /^warning: .*120 minutes.*pg_terminate_backend\(7\)/],
    [
      { worstTable: { name: 'email_ready', live: 5, dead: 3_000_000, vacuumedSecondsAgo: null } },
      /^warning: .*never vacuumed; run: vacuum \(analyze\) email_ready$/,
    ],
    [{}, /^ok: /],
  ])('with %j: autovacuum %s', (change, expected) => {
    expect(verdict(checkAutovacuum({ ...SERVER, ...change }))).toMatch(expected)
  })

  test('whose sessions lose their settings, whose clock is off and whose partitions end is named', () => {
    const session = { jit: 'off', limitSeconds: 27 }
    expect(checkSessions([session, session, session]).state).toBe('ok')
    expect(checkSessions([session, { jit: 'on', limitSeconds: 27 }, session]).state).toBe('failed')
    expect(checkSessions([session, { jit: 'off', limitSeconds: 0 }, session]).state).toBe('failed')
    expect(checkClock(1_000, 4_000).state).toBe('ok')
    expect(verdict(checkClock(1_000, 61_000))).toMatch(/^warning: 60 s .*NTP/)
    expect(checkPartitions(HEALTH).state).toBe('ok')
    expect(checkPartitions({ ...HEALTH, partitionsUntil: '20260501' }).state).toBe('failed')
    expect(checkPartitions({ ...HEALTH, partitionsUntil: null }).state).toBe('failed')
  })

  test('that runs out of disk is named', () => {
    const embedded = (freeBytes: number, problem: string | null = null) =>
      checkDisk({ folder: '/data', freeBytes, problem }).state
    expect([embedded(5e9), embedded(5e8), embedded(0, 'The disk is full')]).toEqual(['ok', 'warning', 'failed'])
    const other = (hasSpace: boolean) => checkDisk({ folder: null, hasSpace }).state
    expect([other(true), other(false)]).toEqual(['ok', 'failed'])
  })
})

const wait = (seconds: number) => ({ seconds, blockerPid: 42, blockerRole: 'app' })

test('a short wait for a lock is ordinary, a long one names who holds it', () => {
  expect(checkLocks(null).state).toBe('ok')
  expect(checkLocks(wait(1)).state).toBe('ok')
  expect(checkLocks(wait(30))).toEqual({
    state: 'warning',
    detail:
      'a session has waited 30 s for a lock of app; end the session that holds it with: select pg_terminate_backend(42)',
  })
})

test('a transaction that is idle for minutes is named with what it blocks and what ends it', () => {
  const session = { pid: 42, application: 'email-gateway-backup', role: 'app', seconds: 299 }
  expect(checkIdleTransactions(null)).toEqual([])
  expect(checkIdleTransactions(session)).toEqual([])
  expect(checkIdleTransactions({ ...session, seconds: 660 })).toEqual([
    {
      state: 'warning',
      detail: expect.stringMatching(
        /^email-gateway-backup \(role app, pid 42\) .*idle .* 11 minutes: vacuum .* retention .*: select pg_terminate_backend\(42\)$/,
      ),
    },
  ])
})

describe('the work', () => {
  const [api, worker, all] = [{ role: 'api' as const }, { role: 'worker' as const }, { role: 'all' as const }]

  test('on two lanes or with expired leases is a warning', () => {
    expect(checkWorkers(HEALTH, 'direct', [all]).state).toBe('ok')
    expect(checkWorkers(HEALTH, 'bullmq', [all]).state).toBe('warning')
    expect(checkWorkers({ ...HEALTH, expiredLeases: 1 }, 'direct', [all]).state).toBe('warning')
  })

  test('without workers fails when mail waits or an API accepts more, and names the process that is missing', () => {
    const none = { ...HEALTH, workers: [] }
    expect(verdict(checkWorkers(none, 'direct', []))).toMatch(/^warning: .*: email-gateway start$/)
    expect(verdict(checkWorkers({ ...none, waiting: 1 }, 'direct', []))).toMatch(/^failed: .*: email-gateway start$/)
    expect(checkWorkers({ ...none, waiting: 1, held: 1 }, 'direct', []).state).toBe('warning')
    expect(verdict(checkWorkers(none, 'direct', [api]))).toMatch(/^failed: .*: email-gateway start --role worker$/)
  })

  test('of workers alone is a warning, because nobody accepts mail by HTTP', () => {
    expect(checkApi([worker]).map(verdict)).toEqual([
      expect.stringMatching(/^warning: no process accepts mail by HTTP.*start --role api$/),
    ])
    for (const running of [[], [api, worker], [all]]) expect(checkApi(running)).toEqual([])
  })

  test('that waits for over a minute is a warning, unless a provider or a send rate explains it', () => {
    const provider = { name: 'ses', state: 'closed', ratePerSecond: null, slowedAgoMs: null } as ProviderRow
    const waiting = { ...HEALTH, waiting: 1, oldestWaitingSeconds: 90 }
    expect(checkBacklog(waiting, [provider], [{ ratePerSecond: null }]).state).toBe('warning')
    for (const change of [{ state: 'open' as const }, { ratePerSecond: 14 }, { slowedAgoMs: 1 }])
      expect(checkBacklog(waiting, [{ ...provider, ...change }], []).state).toBe('ok')
    expect(checkBacklog(waiting, [provider], [{ ratePerSecond: 1 }]).state).toBe('ok')
    expect(checkBacklog({ ...waiting, oldestWaitingSeconds: 301 }, [], [{ ratePerSecond: 1 }]).state).toBe('warning')
  })

  test('that waits for long, in the outbox, the inbox or the dead letters, is a warning', () => {
    expect(checkBacklog(HEALTH, [], []).state).toBe('ok')
    expect(checkBacklog({ ...HEALTH, waiting: 1, oldestWaitingSeconds: 900 }, [], []).state).toBe('warning')
    expect(checkBacklog({ ...HEALTH, waiting: 3, held: 2 }, [], [])).toMatchObject({
      state: 'ok',
      detail: '3 ready, 2 of them of paused companies; 0 of unknown outcome',
    })
    expect(checkInbox({ waiting: 0, oldestSeconds: null }).state).toBe('ok')
    expect(checkInbox({ waiting: 1, oldestSeconds: 900 }).state).toBe('warning')
    expect(checkDeadLetters({ deadLetters: 100 }).state).toBe('ok')
    expect(checkDeadLetters({ deadLetters: 101 }).state).toBe('warning')
    expect(verdict(checkLedger({ open: 0, acknowledged: 0 }))).toBe('ok: accepted = ended + waiting + unknown')
    expect(verdict(checkLedger({ open: 0, acknowledged: 1 }))).toBe(
      'ok: accepted = ended + waiting + unknown, but for 1 acknowledged',
    )
    expect(verdict(checkLedger({ open: 1, acknowledged: 0 }))).toMatch(
      /^failed: 1 accepted e-mail missing; .* email-gateway ledger$/,
    )
  })

  test('of a parked provider fails, and so does no company without a reason', () => {
    const row = { name: 'ses', state: 'closed', ratePerSecond: 14, slowedAgoMs: null } as unknown as ProviderRow
    expect(checkProvider(row).state).toBe('ok')
    const parked = { ...row, state: 'open', openedAt: new Date(0), reasonCode: 'X', reason: 'y', probeInMs: 1000 }
    expect(verdict(checkProvider(parked as ProviderRow))).toMatch(/^failed: ses parked .* in 1 s$/)
    const company = { name: 'acme', warnReason: null, pausedAt: null } as unknown as CompanyStandingRow
    const paused = { ...company, pausedAt: '2026-05-01T00:00:00Z', pausedBy: 'reputation', pauseReason: 'bounces' }
    const checks = checkStandings([company, { ...company, warnReason: '6 %' }, paused])
    expect(checks.map(verdict)).toEqual([
      'warning: acme is warned: 6 %',
      'warning: acme is paused by reputation: bounces; email-gateway company resume acme --reason TEXT',
    ])
    const byHand = { ...paused, pausedBy: 'cli:root' } as CompanyStandingRow
    expect([...checks, ...checkStandings([byHand])].map(({ name }) => name)).toEqual([
      'reputation',
      'reputation',
      'paused',
    ])
  })
})

test('a Redis without a limit, or near it, is named', () => {
  expect(checkMemory(null)).toEqual([])
  expect(checkMemory({ usedBytes: 1e6, maxBytes: 0 })).toMatchObject([{ state: 'warning' }])
  const at = (share: number) => checkMemory({ usedBytes: share * 1e9, maxBytes: 1e9 })[0]!.state
  expect([0.5, 0.85, 0.95].map(at)).toEqual(['ok', 'warning', 'failed'])
})

describe('provider events', () => {
  const quiet = { sent: false, received: false }
  const FACTS: EventSetup = { topics: [], flow: { ses: quiet, resend: quiet } }
  const TOPIC = 'arn:aws:sns:us-east-1:1:email-gateway-events'
  const check = (providers: string[], settings: InUse['settings'], facts: Partial<EventSetup> = {}) =>
    checkEvents({ processes: [], providers, settings }, { ...FACTS, ...facts }).map(verdict)

  test('that are not set up are named, and a topic of ses setup counts', () => {
    expect(check(['smtp'], {})).toEqual([])
    expect(check(['ses'], {})).toEqual([expect.stringMatching(/^warning: SNS_TOPIC_ARNS .*email-gateway ses setup/)])
    expect(check(['ses:eu-west-1'], { SES_CONFIGURATION_SET: 'x' }, { topics: [TOPIC] })).toEqual([])
    expect(check(['ses'], {}, { topics: [TOPIC] })).toEqual([expect.stringMatching(/^warning: SES_CONFIGURATION_SET/)])
    expect(check(['resend'], {})).toEqual([expect.stringMatching(/^warning: RESEND_WEBHOOK_SECRET/)])
  })

  test('that do not come although e-mails go out are missed', () => {
    const flow = { ses: { sent: true, received: false }, resend: { sent: true, received: true } }
    const settings = { SES_CONFIGURATION_SET: 'x', SNS_TOPIC_ARNS: [TOPIC], RESEND_WEBHOOK_SECRET: true }
    expect(check(['ses', 'resend'], settings, { flow })).toEqual([
      expect.stringMatching(/^warning: .*Amazon SES.*no event/),
    ])
    const both = { ses: flow.resend, resend: flow.ses }
    expect(check(['ses', 'resend'], settings, { flow: both })).toEqual([expect.stringMatching(/^warning: .*by Resend/)])
  })

  test('of a region that is not listed fail', () => {
    const settings = { SES_CONFIGURATION_SET: 'x', SNS_TOPIC_ARNS: [TOPIC], SNS_REGIONS: ['eu-west-1'] }
    expect(check(['ses'], settings)).toEqual([expect.stringMatching(/^failed: SNS_REGIONS lacks/)])
  })
})

describe('Amazon SES', () => {
  const arn = 'arn:aws:sns:us-east-1:1:email-gateway-events'
  const verified = { verified: true, dkim: 'SUCCESS', mailFrom: 'SUCCESS' }
  const FACTS: SesFacts = {
    entry: 'ses',
    account: { production: true, max24Hours: 50_000, sent24Hours: 10 },
    configurationSet: { name: 'email-gateway', exists: true },
    destinations: [{ name: 'x', enabled: true, eventTypes: [...SES_EVENT_TYPES], topicArn: arn }],
    topics: [
      {
        arn,
        exists: true,
        publishAllowed: true,
        endpoints: [{ url: 'https://g.example/webhooks/ses', confirmed: true }],
      },
    ],
    identities: [{ domain: 'acme.example', companies: ['acme'], found: verified }],
  }
  const [topic] = FACTS.topics
  const [destination] = FACTS.destinations
  const identity = (found: object | null) => ({
    identities: [{ domain: 'acme.example', companies: ['acme'], found: found as typeof verified | null }],
  })

  test('in order is four times ok', () => {
    expect(checkSes(FACTS).map(({ name, state }) => `${name} ${state}`)).toEqual([
      'ses ok',
      'ses ok',
      'sns ok',
      'domain ok',
    ])
  })

  test.each<[string, Partial<SesFacts>, RegExp]>([
    ['the sandbox', { account: { ...FACTS.account, production: false } }, /^warning: .*sandbox.*put-account-details/],
    ['the quota', { account: { ...FACTS.account, sent24Hours: 45_000 } }, /^warning: .*45000 of 50000/],
    ['no set', { configurationSet: { name: 'x', exists: false } }, /^failed: .*no configuration set x.*ses setup/],
    ['no destination', { destinations: [] }, /^failed: .*reports to no topic/],
    [
      'a destination that is off',
      { destinations: [{ ...destination!, enabled: false }] },
      /^warning: .*SEND, DELIVERY/,
    ],
    ['a type too few', { destinations: [{ ...destination!, eventTypes: ['SEND'] }] }, /^warning: .*BOUNCE/],
    ['no topic', { topics: [{ ...topic!, exists: false }] }, /^failed: .*does not exist/],
    ['no subscription', { topics: [{ ...topic!, endpoints: [] }] }, /^failed: .*no subscription/],
    [
      'no confirmation',
      { topics: [{ ...topic!, endpoints: [{ url: 'https://g.example/webhooks/ses', confirmed: false }] }] },
      /^failed: .*not confirmed/,
    ],
    ['an open policy', { topics: [{ ...topic!, publishAllowed: false }] }, /^warning: .*policy/],
    ['no identity', identity(null), /^failed: .*domain add acme\.example --company acme$/],
    [
      'not verified',
      identity({ ...verified, verified: false }),
      /^failed: .*domain check acme\.example --company acme$/,
    ],
    ['no DKIM', identity({ ...verified, dkim: 'FAILED' }), /^warning: .*without DKIM/],
    ['no MAIL FROM', identity({ ...verified, mailFrom: 'PENDING' }), /^warning: .*MAIL FROM/],
  ])('with %s says so and what mends it', (_name, change, expected) => {
    const bad = checkSes({ ...FACTS, ...change }).filter(({ state }) => state !== 'ok')
    expect(bad.map(verdict)).toEqual([expect.stringMatching(expected)])
  })
})

test('domains that Resend lacks or has not verified fail', () => {
  const wanted = new Map([
    ['a.example', ['acme']],
    ['b.example', []],
    ['c.example', ['acme']],
  ])
  const listed = [
    { name: 'A.example', status: 'verified' },
    { name: 'b.example', status: 'pending' },
  ]
  expect(checkResendDomains(listed, wanted).map(verdict)).toEqual([
    'ok: a.example is verified at Resend',
    'failed: b.example is pending at Resend; run: email-gateway domain check b.example --company NAME',
    'failed: Resend does not have c.example; run: email-gateway domain add c.example --company acme',
  ])
  expect(checkResendDomains(null, wanted)).toMatchObject([{ state: 'ok' }])
})

test.each([
  ['smtp://127.0.0.1:25', 'ok'],
  ['smtps://relay.example:465', 'ok'],
  ['smtp://user:word@relay.example:587', 'ok'],
  ['smtp://relay.example:25', 'warning'],
  ['smtp://relay.example:25?ignoreTLS=true', 'warning'],
])('the way to the relay %s is %s', (url, state) => {
  expect(checkRelayTls(smtpTls(url)).state).toBe(state)
})

test('sender domains are those of the companies and of EMAIL_FROM, each once', () => {
  const companies = [
    { name: 'a', fromDomains: ['x.example', 'y.example'] },
    { name: 'b', fromDomains: ['x.example'] },
  ]
  expect([...senderDomains(companies, 'Shop <shop@z.example>')]).toEqual([
    ['z.example', []],
    ['x.example', ['a', 'b']],
    ['y.example', ['a']],
  ])
  expect(senderDomains([], 'Email Gateway <gateway@localhost.localdomain>').size).toBe(0)
})
