import { randomBytes } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import type { Logger } from 'pino'
import type { Author } from '../audit/audit.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { AwsCallFailed } from '../providers/aws.ts'
import {
  type DnsRecord,
  dmarcSuggestion,
  ownershipRecord,
  type ProviderDomain,
  type ProviderDomains,
  ProviderDomainsFailed,
} from '../providers/domains.ts'
import { openDomains } from '../providers/table.ts'
import { senderSettings } from '../settings/sender.ts'
import type { Settings } from '../settings/settings.ts'
import {
  type Allowed,
  addDomainRow,
  allowDomain,
  type DomainRow,
  findDomain,
  findOtherOwner,
  type Removed,
  recordCreatedAt,
  removeDomainRow,
  takePendingDomains,
} from './stored.ts'

export type DomainDeps = {
  db: Database
  /** Of EMAIL_PROVIDER, without those that know no domains. Opened when needed. */
  openProviders: () => Promise<ProviderDomains[]>
  lookup: DnsLookup
  /** The domain of EMAIL_FROM is the operator's: no company adds it, and nobody removes it at a provider. */
  operatorsDomain: string
}

/** `entries`: the providers in use, which a command reads from the running gateway. */
export function composeDomains(config: Settings, db: Database, entries = config.EMAIL_PROVIDER): DomainDeps {
  return {
    db,
    lookup: dnsLookup(config.DNS_SERVERS),
    openProviders: () => openDomains(entries, config),
    operatorsDomain: senderSettings(config).defaultFrom.domain,
  }
}

type CheckedRecord = DnsRecord & { state?: RecordState }
export type DomainState = {
  row: DomainRow
  records: CheckedRecord[]
  atProviders: { name: string; verified: boolean; status: string }[]
  /** The company may send from it. */
  allowed: boolean
}

const MAX_DOMAINS = 100

export type Added = { kind: 'added'; state: DomainState } | { kind: 'taken'; by: string } | { kind: 'too-many' }

/** `vouched`: an administrator adds it, so that no TXT record has to show whose it is. */
export async function addDomain(
  deps: DomainDeps,
  { companyId, domain, vouched }: { companyId: string; domain: string; vouched: boolean },
  author: Author,
): Promise<Added> {
  const isOperators = !vouched && domain === deps.operatorsDomain
  const by = isOperators ? 'the operator of the gateway' : await findOtherOwner(deps.db.pool, domain, companyId)
  if (by !== null) return { kind: 'taken', by }
  const ownershipToken = vouched ? null : randomBytes(20).toString('hex')
  const row = await addDomainRow(deps.db, { companyId, domain, ownershipToken }, MAX_DOMAINS, author)
  if (!row) return { kind: 'too-many' }
  return {
    kind: 'added',
    state: stateOf(row, await withProviders(deps, all => Promise.all(all.map(ensureAt(deps, row))))),
  }
}

export type Checked = { kind: 'checked'; state: DomainState } | Exclude<Allowed, { kind: 'allowed' }>

/** Looks at DNS and at the providers, and allows the domain for its company when all is well. */
export async function checkDomain(deps: DomainDeps, row: DomainRow, author: Author): Promise<Checked> {
  const found = await withProviders(deps, all => Promise.all(all.map(checkAt(deps, row))))
  const state = stateOf(row, found)
  const records = await Promise.all(state.records.map(record => withState(record, deps.lookup)))
  if (row.verifiedAt || !isVerified(row, found, records)) return { kind: 'checked', state: { ...state, records } }
  const outcome = await allowDomain(deps.db.pool, row, author)
  if (outcome.kind !== 'allowed') return outcome
  const allowed = (await findDomain(deps.db.pool, row.companyId, row.domainId)) ?? row
  return { kind: 'checked', state: { ...state, row: allowed, records, allowed: true } }
}

/** What only this gateway has made is removed at the providers, too. */
export async function removeDomain(deps: DomainDeps, row: DomainRow, author: Author): Promise<Removed> {
  const removed = await removeDomainRow(deps.db.pool, row, author)
  const stays = removed.kind !== 'removed' || removed.shared || row.domain === deps.operatorsDomain
  if (!stays && row.createdAtProviders.length > 0)
    await withProviders(deps, async all => {
      for (const one of all) if (row.createdAtProviders.includes(one.name)) await one.remove(row.domain)
    })
  return removed
}

type AtProvider = ProviderDomain & { name: string }

const ensureAt =
  ({ db }: DomainDeps, { domainId, domain }: DomainRow) =>
  async (provider: ProviderDomains): Promise<AtProvider> => {
    const { created, ...found } = await provider.ensure(domain)
    if (created) await recordCreatedAt(db.pool, domainId, provider.name)
    return { name: provider.name, ...found }
  }

/** A provider that was added to EMAIL_PROVIDER later does not have the domain yet. */
const checkAt =
  (deps: DomainDeps, row: DomainRow) =>
  async (provider: ProviderDomains): Promise<AtProvider> => {
    const found = await provider.check(row.domain)
    return found ? { name: provider.name, ...found } : ensureAt(deps, row)(provider)
  }

async function withProviders<T>(deps: DomainDeps, act: (all: ProviderDomains[]) => Promise<T>): Promise<T> {
  const all = await deps.openProviders()
  try {
    return await act(all)
  } finally {
    for (const one of all) one.close()
  }
}

function stateOf(row: DomainRow, found: AtProvider[]): DomainState {
  return {
    row,
    records: [
      ...(row.ownershipToken === null ? [] : [ownershipRecord(row.domain, row.ownershipToken)]),
      ...found.flatMap(({ records }) => records),
      dmarcSuggestion(row.domain),
    ],
    atProviders: found.map(({ name, verified, status }) => ({ name, verified, status })),
    allowed: row.allowed,
  }
}

async function withState(record: DnsRecord, lookup: DnsLookup): Promise<CheckedRecord> {
  return { ...record, state: judgeRecord(record, await lookup(record.name, record.type)) }
}

/** The providers decide about their records; whose the domain is, only our TXT record shows. */
function isVerified(row: DomainRow, found: AtProvider[], records: CheckedRecord[]): boolean {
  const proven = records.some(({ purpose, state }) => purpose === 'OWNERSHIP' && state === 'found')
  return found.every(({ verified }) => verified) && (row.ownershipToken === null || proven)
}

/** How often housekeeping begins a pass. */
export const CHECK_DOMAINS_EVERY_MS = 120_000

const RULES = {
  most: 20,
  // A little less than between two passes, so that the next one of the same process is not left out.
  passSeconds: 100,
  leastSeconds: 300,
  // As Amazon SES does.
  giveUpHours: 72,
}

/** A stop waits for the pass: it begins no further look after this time. What it has left out is due again soon. */
const PASS_MS = 10_000

/** Looks whether domains are verified now, so that nobody has to ask for it. Returns how many were looked at. */
export async function checkPendingDomains(deps: DomainDeps, log: Logger): Promise<number> {
  const pending = await takePendingDomains(deps.db.pool, RULES)
  const endMs = performance.now() + PASS_MS
  const failed: { domain: string; reason: string }[] = []
  for (const { companyId, domainId } of pending) {
    if (performance.now() > endMs) break
    const row = await findDomain(deps.db.pool, companyId, domainId)
    if (!row) continue
    const { domain } = row
    try {
      const checked = await checkDomain(deps, row, { performedBy: 'system' })
      if (checked.kind === 'checked' && checked.state.row.verifiedAt !== null)
        log.info({ companyId, domain }, `The domain ${domain} is verified; its company may send from it`)
    } catch (error) {
      if (!(error instanceof AwsCallFailed) && !(error instanceof ProviderDomainsFailed)) throw error
      failed.push({ domain, reason: error.message })
    }
  }
  if (failed.length > 0) log.warn({ failed }, 'A provider could not be asked about sender domains; asked again later')
  return pending.length
}

/** unknown: DNS did not answer. */
export type RecordState = 'found' | 'missing' | 'other' | 'unknown'

/** What DNS has at the name of a record; null: it could not be asked. MX as `10 host`. */
type FoundValues = readonly string[] | null

/** `other`: there is a record of the same kind with another value. */
export function judgeRecord(record: DnsRecord, found: FoundValues): RecordState {
  if (found === null) return 'unknown'
  const rivals = found.filter(value => isRival(record, value))
  if (rivals.some(value => matches(record, value))) return record.type === 'MX' && rivals.length > 1 ? 'other' : 'found'
  return rivals.length > 0 ? 'other' : 'missing'
}

/** Other TXT records at the same name are nobody's business. */
function isRival({ purpose, type }: DnsRecord, value: string): boolean {
  if (type !== 'TXT') return true
  if (purpose === 'MAIL FROM') return /^v=spf1\b/i.test(value)
  if (purpose === 'DMARC') return /^v=DMARC1\b/i.test(value)
  return purpose === 'DKIM' || value.startsWith('email-gateway-domain=')
}

function matches({ purpose, type, value, priority }: DnsRecord, found: string): boolean {
  // An SPF or DMARC record of the owner's own is as good, as long as it lets the provider send.
  if (purpose === 'DMARC') return true
  if (purpose === 'MAIL FROM' && type === 'TXT')
    return [...value.matchAll(/include:\S+/g)].every(([part]) => found.includes(part))
  const wanted = type === 'MX' ? `${priority} ${value}` : value
  return host(found) === host(wanted)
}

const host = (text: string) => text.replace(/\.$/, '').toLowerCase()

const TIMEOUT_MS = 3_000
const TRIES = 2

type DnsLookup = (name: string, type: 'CNAME' | 'MX' | 'TXT') => Promise<string[] | null>

/** Values at a name, [] when there are none, null when DNS did not answer. MX as `10 host`. `servers`: instead of the system's. */
function dnsLookup(servers?: readonly string[]): DnsLookup {
  return async function lookup(name, type) {
    const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES })
    if (servers) resolver.setServers(servers)
    try {
      if (type === 'CNAME') return await resolver.resolveCname(name)
      if (type === 'TXT') return (await resolver.resolveTxt(name)).map(parts => parts.join(''))
      return (await resolver.resolveMx(name)).map(({ priority, exchange }) => `${priority} ${exchange}`)
    } catch (error) {
      return NOTHING_THERE.has((error as NodeJS.ErrnoException).code ?? '') ? [] : null
    }
  }
}

const NOTHING_THERE = new Set(['ENODATA', 'ENOTFOUND'])
