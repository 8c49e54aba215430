import { SegmentedControl, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useTranslation } from 'react-i18next'
import { CompanyFilter } from '../../components/CompanyFilter.tsx'
import { FilterSelect, Filters } from '../../components/Filters.tsx'
import { filterOf, peopleOnly } from './data.ts'
import type { AuditSearch } from './routes.ts'
import { useAuditWords } from './words.ts'

const TYPING_MS = 400

type AuditFiltersProps = { search: AuditSearch; onChange: (change: AuditSearch) => void; onClear: () => void }

export function AuditFilters({ search, onChange, onClear }: AuditFiltersProps) {
  const { t } = useTranslation('audit')
  const words = useAuditWords()
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
      <TypedFilter label={t('subjectId')} value={search.subjectId} onChange={subjectId => onChange({ subjectId })} />
      <CompanyFilter value={search.company} onChange={company => onChange({ company })} />
      <DayFilter label={t('from')} value={search.from} onChange={from => onChange({ from })} />
      <DayFilter label={t('to')} value={search.to} onChange={to => onChange({ to })} />
    </Filters>
  )
}

const optionsOf = (words: Record<string, string>) =>
  Object.entries(words)
    .map(([value, label]) => ({ value, label }))
    .sort((a, b) => a.label.localeCompare(b.label))

type OneFilterProps = { label: string; value: string | undefined; onChange: (value: string | undefined) => void }

/** Asked for when the typing pauses. The key lets a cleared filter empty the field. */
function TypedFilter({ label, value, onChange }: OneFilterProps) {
  const typed = useDebouncedCallback((text: string) => onChange(text.trim() || undefined), TYPING_MS)
  return (
    <TextInput
      key={value === undefined ? 'empty' : 'filled'}
      size="sm"
      w={180}
      aria-label={label}
      placeholder={label}
      defaultValue={value ?? ''}
      onChange={event => typed(event.currentTarget.value)}
      maxLength={200}
    />
  )
}

function DayFilter({ label, value, onChange }: OneFilterProps) {
  return (
    <TextInput
      size="sm"
      type="date"
      label={label}
      value={value ?? ''}
      onChange={event => onChange(event.currentTarget.value || undefined)}
    />
  )
}
