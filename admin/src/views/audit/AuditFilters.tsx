import { SegmentedControl, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CompanyFilter } from '../../components/CompanyFilter.tsx'
import { useErrorText } from '../../components/error-text.ts'
import { FilterSelect, Filters } from '../../components/Filters.tsx'
import { lookUp } from '../suppression/data.ts'
import { filterOf, peopleOnly } from './data.ts'
import type { AuditSearch } from './routes.ts'
import { useAuditWords } from './words.ts'

const TYPING_MS = 400

type AuditFiltersProps = { search: AuditSearch; onChange: (change: AuditSearch) => void; onClear: () => void }

export function AuditFilters({ search, onChange, onClear }: AuditFiltersProps) {
  const { t } = useTranslation('audit')
  const words = useAuditWords()
  // Days are written so that they sort.
  const isReversed = search.from !== undefined && search.to !== undefined && search.from > search.to
  const isFiltered = Object.keys(filterOf(search)).length > 0
  return (
    <Filters onClear={isFiltered ? onClear : undefined}>
      <SegmentedControl
        size="sm"
        aria-label={t('actor')}
        value={peopleOnly(search) ? 'people' : 'any'}
        data={(['people', 'any'] as const).map(value => ({ value, label: t(`actors.${value}`) }))}
        onChange={value => onChange(value === 'any' ? { actor: 'any' } : { actor: undefined, performedBy: undefined })}
      />
      <TypedFilter
        label={t('whoFilter')}
        value={search.performedBy}
        onChange={performedBy => onChange({ performedBy })}
      />
      <FilterSelect
        label={t('action')}
        value={search.action}
        options={optionsOf(words.actions)}
        onChange={action => onChange({ action })}
        width={220}
      />
      <FilterSelect
        label={t('subject')}
        value={search.subjectType}
        options={optionsOf(words.subjects)}
        onChange={subjectType => onChange({ subjectType })}
      />
      <TypedFilter
        label={t('subjectId')}
        value={search.subjectId}
        onChange={subjectId => onChange({ subjectId })}
        toValue={subjectIdOf}
      />
      <CompanyFilter value={search.company} onChange={company => onChange({ company })} />
      <DayFilter
        label={t('from')}
        value={search.from}
        onChange={from => onChange({ from })}
        error={isReversed && t('reversed')}
      />
      <DayFilter label={t('to')} value={search.to} onChange={to => onChange({ to })} />
    </Filters>
  )
}

const optionsOf = (words: Record<string, string>) =>
  Object.entries(words)
    .map(([value, label]) => ({ value, label }))
    .sort((a, b) => a.label.localeCompare(b.label))

type OneFilterProps = { label: string; value: string | undefined; onChange: (value: string | undefined) => void }

/** Of an address the URL has the hash, so that a link tells no address; the gateway knows it. */
const subjectIdOf = async (text: string) => (text.includes('@') ? (await lookUp(text)).emailHash : text)

type TypedFilterProps = OneFilterProps & { toValue?: (text: string) => Promise<string> }

/** Asked for when the typing pauses. The key lets a cleared filter empty the field. */
function TypedFilter({ label, value, onChange, toValue = async text => text }: TypedFilterProps) {
  const errorText = useErrorText()
  const [error, setError] = useState<string | null>(null)
  const typed = useDebouncedCallback(async (text: string) => {
    setError(null)
    const given = text.trim()
    try {
      onChange(given ? await toValue(given) : undefined)
    } catch (refusal) {
      setError(errorText(refusal))
    }
  }, TYPING_MS)
  return (
    <TextInput
      key={value === undefined ? 'empty' : 'filled'}
      size="sm"
      w={180}
      aria-label={label}
      placeholder={label}
      defaultValue={value ?? ''}
      error={error}
      onChange={event => typed(event.currentTarget.value)}
      maxLength={200}
    />
  )
}

function DayFilter({ label, value, onChange, error = false }: OneFilterProps & { error?: string | false }) {
  return (
    <TextInput
      size="sm"
      type="date"
      label={label}
      error={error}
      value={value ?? ''}
      onChange={event => onChange(event.currentTarget.value || undefined)}
    />
  )
}
