import { randomBytes } from 'node:crypto'
import { judgeRecord, type RecordState } from '../contracts/domains/check.ts'
import { type DnsRecord, dmarcSuggestion, ownershipRecord } from '../contracts/domains/records.ts'
import type { Author } from '../db/audited-change.ts'
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
} from '../db/companies/domains.ts'
import type { Database } from '../db/pool.ts'
import type { ProviderDomain, ProviderDomains } from '../providers/domains/domains.ts'
import type { DnsLookup } from '../runtime/dns-lookup.ts'

export type DomainDeps = {
  db: Database
  /** Of EMAIL_PROVIDER, without those that know no domains. Opened when needed. */
  openProviders: () => Promise<ProviderDomains[]>
  lookup: DnsLookup
  /** The domain of EMAIL_FROM is the operator's: no company adds it, and nobody removes it at a provider. */
  operatorsDomain: string
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
