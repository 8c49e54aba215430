import { Button, Group, Select } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'

/** The row of filters above a list. Their values are search parameters of the route, so a link keeps them. */
export function Filters({ children, onClear }: { children: ReactNode; onClear?: (() => void) | undefined }) {
  const { t } = useTranslation()
  return (
    <Group gap="xs" align="flex-end" role="search">
      {children}
      {onClear && (
        // As high as the fields, so that the words are on one line.
        <Button variant="subtle" size="sm" px="xs" onClick={onClear}>
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
  width?: number
}

/** So wide that the placeholder can be read, in both languages. */
const widthOf = (placeholder: string) => 60 + 8 * placeholder.length

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
      w={Math.max(rest.width ?? 180, widthOf(placeholder))}
      maw="100%"
      aria-label={label}
      placeholder={placeholder}
      title={options.find(option => option.value === value)?.label}
      data={options}
      value={value ?? null}
      onChange={chosen => onChange((chosen as T | null) ?? undefined)}
      clearable
      nothingFoundMessage={t('filters.nothing')}
      // The dots of a long name end before the two signs.
      rightSectionWidth={value === undefined ? 34 : 56}
      searchable={rest.searchable ?? options.length > 8}
      // Inside of the page's landmarks.
      comboboxProps={{ withinPortal: false }}
    />
  )
}
