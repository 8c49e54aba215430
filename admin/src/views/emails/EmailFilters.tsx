import { TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { companiesQuery } from '../../api/companies.ts'
import { FilterSelect, Filters } from '../../components/Filters.tsx'
import { EMAIL_STATUSES } from '../../components/StatusBadge.tsx'
import { DEFAULT_RANGE } from './queries.ts'
import { type EmailSearch, hasFilters, LIST_RANGES, lookupOf } from './search-params.ts'

type Props = { search: EmailSearch; onChange: (next: EmailSearch) => void }

export function EmailFilters({ search, onChange }: Props) {
  const { t } = useTranslation('emails')
  const { t: common } = useTranslation()
  const companies = useQuery(companiesQuery).data?.data ?? []
  const { olderThan: _, newerThan: __, ...kept } = search
  // Another filter begins with the first page.
  const set = (change: { [name in keyof EmailSearch]?: EmailSearch[name] | undefined }) =>
    onChange(
      Object.fromEntries(
        Object.entries({ ...kept, ...change }).filter(([, value]) => value !== undefined),
      ) as EmailSearch,
    )
  return (
    <Filters oneLine onClear={hasFilters(search) ? () => onChange({}) : undefined}>
      <FilterSelect
        label={t('columns.status')}
        value={search.status}
        options={EMAIL_STATUSES.map(value => ({ value, label: common(`status.${value}`) }))}
        onChange={status => set({ status: status as EmailSearch['status'] })}
        any={t('columns.status')}
        width={192}
      />
      <FilterSelect
        label={t('columns.company')}
        value={search.company}
        options={companies.map(({ companyId, name }) => ({ value: companyId, label: name }))}
        onChange={company => set({ company })}
        any={common('filters.allCompanies')}
        searchable
        width={160}
      />
      <TextFilter label={t('tag')} value={search.tag} onChange={tag => set({ tag })} />
      <TextFilter label={t('template')} value={search.template} onChange={template => set({ template })} />
      <FilterSelect
        label={t('mode')}
        value={search.mode}
        options={(['live', 'test'] as const).map(value => ({ value, label: t(`modes.${value}`) }))}
        onChange={mode => set({ mode })}
        any={t('mode')}
        width={136}
      />
      {!lookupOf(search) && (
        <FilterSelect
          label={t('range')}
          value={search.range ?? DEFAULT_RANGE}
          options={LIST_RANGES.map(value => ({ value, label: common(`ranges.${value}`) }))}
          onChange={range => set({ range })}
          required
          width={172}
        />
      )}
    </Filters>
  )
}

/** Applied with Enter, or when it is left. */
function TextFilter(props: {
  label: string
  value: string | undefined
  onChange: (value: string | undefined) => void
}) {
  const { label, value = '', onChange } = props
  const [text, setText] = useState(value)
  const [shown, setShown] = useState(value)
  if (shown !== value) {
    setShown(value)
    setText(value)
  }
  const apply = () => text.trim() !== value && onChange(text.trim() || undefined)
  return (
    <TextInput
      size="sm"
      w={92}
      aria-label={label}
      placeholder={label}
      title={text}
      value={text}
      maxLength={100}
      onChange={event => setText(event.currentTarget.value)}
      onBlur={apply}
      onKeyDown={event => event.key === 'Enter' && apply()}
    />
  )
}
