import { Button, Group, Text } from '@mantine/core'
import { type ReactNode, useCallback, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import classes from './SelectionBar.module.css'

export type Selection = { selected: ReadonlySet<string>; toggle: (keys: string[]) => void; clear: () => void }

/** The rows that are selected, for `DataTable`. */
export function useSelection(): Selection {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const toggle = useCallback(
    (keys: string[]) =>
      setSelected(before => {
        const after = new Set(before)
        for (const key of keys) if (!after.delete(key)) after.add(key)
        return after
      }),
    [],
  )
  const clear = useCallback(() => setSelected(new Set()), [])
  return useMemo(() => ({ selected, toggle, clear }), [selected, toggle, clear])
}

export function SelectionBar({ selection, children }: { selection: Selection; children: ReactNode }) {
  const { t } = useTranslation()
  const count = selection.selected.size
  if (count === 0) return null
  return (
    <Group className={classes.bar} gap="sm" role="region" aria-label={t('table.selected', { count })}>
      <Text size="sm" fw={600}>
        {t('table.selected', { count })}
      </Text>
      {children}
      <Button size="compact-sm" variant="subtle" onClick={selection.clear}>
        {t('table.clear')}
      </Button>
    </Group>
  )
}
