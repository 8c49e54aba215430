import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { companiesQuery } from '../api/companies.ts'
import { FilterSelect } from './Filters.tsx'

type CompanyFilterProps = { value: string | undefined; onChange: (companyId: string | undefined) => void }

/** All companies, or one, by its id. */
export function CompanyFilter({ value, onChange }: CompanyFilterProps) {
  const { t } = useTranslation()
  const { data } = useQuery(companiesQuery)
  const options = data?.data.map(({ companyId, name }) => ({ value: companyId, label: name })) ?? []
  return (
    <FilterSelect
      label={t('nav.companies')}
      any={t('filters.allCompanies')}
      value={value}
      options={options}
      onChange={onChange}
      searchable
      width={220}
    />
  )
}
