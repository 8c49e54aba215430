import { Button, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { companiesQuery } from '../../api/companies.ts'
import { useErrorText } from '../../components/error-text.ts'
import { FilterSelect, Filters, phoneWidth } from '../../components/Filters.tsx'
import { RANGES } from '../overview/data.ts'
import { historyQuery, lookUp, REASONS } from './data.ts'
import type { SuppressionSearch } from './routes.ts'

type EntryFiltersProps = { search: SuppressionSearch; show: (search: SuppressionSearch) => void }

export function EntryFilters({ search, show }: EntryFiltersProps) {
  const { t } = useTranslation(['suppression', 'common'])
  const { data: companies } = useQuery(companiesQuery)
  const { cursors: _, open: __, ...place } = search
  const change = (next: SuppressionSearch) => show({ ...place, ...next })
  const { reason, company, range, search: text } = search
  const lists = companies?.data.map(one => ({ value: one.companyId, label: one.name })) ?? []
  return (
    <Filters onClear={reason || company || range || text ? () => show({}) : undefined}>
      <SearchBox search={search} show={show} />
      <FilterSelect
        label={t('suppression:reason')}
        value={reason}
        options={REASONS.map(value => ({ value, label: t(`suppression:reasons.${value}`) }))}
        onChange={chosen => change({ reason: chosen })}
      />
      <FilterSelect
        label={t('suppression:list')}
        value={company}
        options={[{ value: 'global', label: t('suppression:global') }, ...lists]}
        onChange={chosen => change({ company: chosen })}
      />
      <FilterSelect
        label={t('suppression:added')}
        value={range}
        options={RANGES.map(value => ({ value, label: t(`common:ranges.${value}`) }))}
        onChange={chosen => change({ range: chosen })}
      />
    </Filters>
  )
}

/** An address opens its details, with its hash in the URL; digits of a hash filter the list. */
function SearchBox({ search, show }: EntryFiltersProps) {
  const { t } = useTranslation('suppression')
  const errorText = useErrorText()
  const client = useQueryClient()
  const [text, setText] = useState(search.search ?? '')
  const [error, setError] = useState<string | null>(null)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setError(null)
    const { cursors: _, open: __, search: ___, ...place } = search
    if (!text.includes('@')) return show({ ...place, search: text.trim() || undefined })
    try {
      const history = await lookUp(text.trim())
      client.setQueryData(historyQuery(history.emailHash).queryKey, history)
      show({ ...place, open: history.emailHash })
    } catch (refusal) {
      setError(errorText(refusal))
    }
  }
  return (
    <form onSubmit={submit} style={phoneWidth(t('search'))}>
      <TextInput
        size="sm"
        w={340}
        maw="100%"
        aria-label={t('search')}
        placeholder={t('search')}
        value={text}
        error={error}
        maxLength={320}
        autoComplete="off"
        onChange={event => setText(event.currentTarget.value)}
        rightSectionWidth={40}
        rightSection={
          <Button type="submit" size="compact-sm" variant="subtle" px={6} aria-label={t('searchButton')}>
            <IconSearch size={16} />
          </Button>
        }
      />
    </form>
  )
}
