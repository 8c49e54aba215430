import { Button, Group, Select } from '@mantine/core'
import type { CSSProperties, ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useCompanyOptions } from '../api/companies.ts'
import classes from './Filters.module.css'

type FiltersProps = {
  children: ReactNode
  onClear?: (() => void) | undefined
  /** So many that they only fit beside each other at 1280 px when each gives way a little. */
  oneLine?: boolean
}

/** The row of filters above a list. Their values are search parameters of the route, so a link keeps them. */
export function Filters({ children, onClear, oneLine = false }: FiltersProps) {
  const { t } = useTranslation()
  return (
    <Group gap="xs" align="flex-end" role="search" className={classes.filters} data-one-line={oneLine}>
      {children}
      {onClear && (
        // As high as the fields, so that the words are on one line.
        <Button variant="subtle" size="sm" px={6} className={classes.clear} onClick={onClear}>
          {t('filters.clear')}
        </Button>
      )}
    </Group>
  )
}

type FilterSelectProps<T extends string> = {
  label: string
  value: T | undefined
  options: { value: T; label: string }[]
  onChange: (value: T | undefined) => void
  /** Shown when nothing is chosen. */
  any?: string
  searchable?: boolean
  /** Where one is always chosen: there is nothing to clear. */
  required?: boolean
  width?: number
}

/** So wide that the placeholder can be read, in both languages. */
const widthOf = (placeholder: string) => 50 + 8 * placeholder.length

/** The same on a phone, where the letters are smaller; one that needs more than half of a line gets a whole one. */
export const phoneWidth = (placeholder: string) =>
  ({ '--filter-needs': `${48 + 7 * placeholder.length}px` }) as CSSProperties

export function FilterSelect<T extends string>({
  label,
  value,
  options,
  onChange,
  any,
  ...rest
}: FilterSelectProps<T>) {
  const { t } = useTranslation()
  const placeholder = any ?? `${label}: ${t('filters.any')}`
  return (
    <Select
      size="sm"
      // A value that is always there needs no room for the placeholder.
      w={rest.required ? rest.width : Math.max(rest.width ?? 180, widthOf(placeholder))}
      maw="100%"
      style={phoneWidth(placeholder)}
      aria-label={label}
      placeholder={placeholder}
      title={options.find(option => option.value === value)?.label}
      data={options}
      value={value ?? null}
      onChange={chosen => onChange((chosen as T | null) ?? undefined)}
      clearable={!rest.required}
      {...(rest.required && { allowDeselect: false })}
      nothingFoundMessage={t('filters.nothing')}
      // The dots of a long name end before the two signs.
      rightSectionWidth={value === undefined || rest.required ? 34 : 56}
      searchable={rest.searchable ?? options.length > 8}
      // Inside of the page's landmarks.
      comboboxProps={{ withinPortal: false }}
    />
  )
}

type CompanyFilterProps = { value: string | undefined; onChange: (companyId: string | undefined) => void }

/** All companies, or one, by its id. */
export function CompanyFilter({ value, onChange }: CompanyFilterProps) {
  const { t } = useTranslation()
  const options = useCompanyOptions()
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
