export type PaletteEntry =
  | { kind: 'email'; id: string }
  | { kind: 'address'; address: string }
  | { kind: 'search'; text: string }
  | { kind: 'company'; companyId: string; name: string }
  | { kind: 'view'; to: string; name: string }

type Company = { companyId: string; name: string }
type View = { to: string; name: string }

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const ADDRESS = /^[^\s@]+@[^\s@]+$/
const MAX_COMPANIES = 6

/** Where a text may lead: an exact look-up first, then companies and views whose name contains it. */
export function paletteEntries(typed: string, companies: Company[], views: View[]): PaletteEntry[] {
  const text = typed.trim()
  const matching = views.filter(({ name }) => contains(name, text)).map(view => ({ kind: 'view' as const, ...view }))
  if (text === '') return matching
  return [...lookUps(text), ...matchingCompanies(text, companies), ...matching, ...fallback(text)]
}

function lookUps(text: string): PaletteEntry[] {
  if (UUID.test(text)) return [{ kind: 'email', id: text.toLowerCase() }]
  return ADDRESS.test(text) ? [{ kind: 'address', address: text }] : []
}

function matchingCompanies(text: string, companies: Company[]): PaletteEntry[] {
  return companies
    .filter(({ companyId, name }) => contains(name, text) || companyId === text.toLowerCase())
    .slice(0, MAX_COMPANIES)
    .map(({ companyId, name }) => ({ kind: 'company', companyId, name }))
}

/** An external id or a message id looks like anything. */
const fallback = (text: string): PaletteEntry[] =>
  UUID.test(text) || ADDRESS.test(text) ? [] : [{ kind: 'search', text }]

const contains = (name: string, text: string) => plain(name).includes(plain(text))
/** Without accents: "nao" finds "Não entregues". */
const plain = (text: string) => text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
