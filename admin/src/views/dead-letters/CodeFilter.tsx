import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { FilterSelect } from '../../components/Filters.tsx'
import { filterOf, groupsQuery } from './data.ts'
import type { DeadLetterSearch } from './routes.ts'

type CodeFilterProps = { search: DeadLetterSearch; onChange: (code: string | undefined) => void }

/** The codes that dead letters have now, and the one of the link. */
export function CodeFilter({ search, onChange }: CodeFilterProps) {
  const { t } = useTranslation('deadLetters')
  const { data } = useQuery(groupsQuery(filterOf(search)))
  const found = data?.data.flatMap(({ code }) => code ?? []) ?? []
  const codes = [...new Set([...found, ...(search.code ? [search.code] : [])])].sort()
  return (
    <FilterSelect
      label={t('code')}
      any={t('anyCode')}
      value={search.code}
      options={codes.map(code => ({ value: code, label: code }))}
      onChange={onChange}
      searchable
      width={260}
    />
  )
}
