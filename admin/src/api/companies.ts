import { useQuery } from '@tanstack/react-query'
import { read, type Schemas } from './client.ts'

export type Company = Schemas['Company']

/** Every company with its standing; filters and the search use it for names. */
export const companiesQuery = read('/admin/companies')

export type CompanyStanding = Awaited<ReturnType<NonNullable<typeof companiesQuery.queryFn>>>['data'][number]

/** For a field that one company is chosen in. */
export const useCompanyOptions = () =>
  useQuery(companiesQuery).data?.data.map(({ companyId, name }) => ({ value: companyId, label: name })) ?? []

/** The id itself as long as the name is not known. */
export function useCompanyName(companyId: string | null | undefined): string | undefined {
  const { data } = useQuery({ ...companiesQuery, enabled: Boolean(companyId) })
  return data?.data.find(company => company.companyId === companyId)?.name ?? companyId ?? undefined
}
