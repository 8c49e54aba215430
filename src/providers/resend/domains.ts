import { z } from 'zod'
import {
  type DnsRecord,
  fullName,
  type ProviderDomain,
  type ProviderDomains,
  ProviderDomainsFailed,
} from '../domains.ts'
import { readAnswer, resendHeaders } from './resend.ts'

const CALL_MS = 15_000
const PAGE = 100

const listSchema = z.object({
  data: z.array(z.object({ id: z.string(), name: z.string(), status: z.string().default('unknown') })),
  has_more: z.boolean().optional(),
})
type ListedDomain = { name: string; status: string }
const domainSchema = z.object({
  id: z.string(),
  status: z.string(),
  records: z
    .array(
      z.object({
        record: z.string(),
        name: z.string(),
        type: z.string(),
        value: z.string(),
        priority: z.number().optional(),
      }),
    )
    .default([]),
})

/** The domains of the account at Resend. Its key must have full access. */
export function resendDomains({ apiKey, baseUrl }: { apiKey: string; baseUrl: string }): ProviderDomains & {
  /** The first hundred. */
  list(): Promise<ListedDomain[]>
} {
  const root = baseUrl.replace(/\/+$/, '')

  async function call(method: string, path: string, body?: object): Promise<unknown> {
    try {
      const response = await fetch(root + path, {
        method,
        headers: resendHeaders(apiKey),
        ...(body && { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: AbortSignal.timeout(CALL_MS),
      })
      const answer = Object(JSON.parse((await readAnswer(response)) || '{}'))
      if (response.ok) return answer
      throw new ProviderDomainsFailed(`Resend refused ${method} ${path}: ${answer.message ?? response.status}`)
    } catch (error) {
      if (error instanceof ProviderDomainsFailed) throw error
      throw new ProviderDomainsFailed(`Resend could not be asked: ${(error as Error).message}`)
    }
  }

  async function list(): Promise<ListedDomain[]> {
    return listSchema.parse(await call('GET', `/domains?limit=${PAGE}`)).data
  }

  async function findId(domain: string): Promise<string | null> {
    let after = ''
    for (;;) {
      const { data, has_more } = listSchema.parse(await call('GET', `/domains?limit=${PAGE}${after}`))
      const found = data.find(({ name }) => name.toLowerCase() === domain)
      if (found) return found.id
      if (!has_more || data.length === 0) return null
      after = `&after=${encodeURIComponent(data.at(-1)!.id)}`
    }
  }

  const read = async (id: string, domain: string) =>
    toDomain(domainSchema.parse(await call('GET', `/domains/${encodeURIComponent(id)}`)), domain)

  return {
    name: 'resend',
    list,
    async ensure(domain) {
      const known = await findId(domain)
      const id = known ?? domainSchema.parse(await call('POST', '/domains', { name: domain })).id
      return { ...(await read(id, domain)), created: known === null }
    },
    async check(domain) {
      const id = await findId(domain)
      if (id === null) return null
      const found = await read(id, domain)
      if (found.verified) return found
      await call('POST', `/domains/${encodeURIComponent(id)}/verify`)
      return read(id, domain)
    },
    async remove(domain) {
      const id = await findId(domain)
      if (id !== null) await call('DELETE', `/domains/${encodeURIComponent(id)}`)
    },
    close() {},
  }
}

const TYPES = ['CNAME', 'MX', 'TXT'] as const

function toDomain({ status, records }: z.output<typeof domainSchema>, domain: string): ProviderDomain {
  return {
    verified: status === 'verified',
    status,
    records: records.flatMap(({ record, name, type, value, priority }): DnsRecord[] => {
      const known = TYPES.find(one => one === type)
      if (!known) return []
      const purpose = record === 'DKIM' ? 'DKIM' : 'MAIL FROM'
      const full = fullName(name, domain)
      return [{ purpose, type: known, name: full, value, required: true, ...(priority !== undefined && { priority }) }]
    }),
  }
}
