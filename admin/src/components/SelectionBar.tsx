import { Button, Group, Text } from '@mantine/core'
import { type ReactNode, useCallback, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import classes from './SelectionBar.module.css'

export type Selection = {
  selected: ReadonlySet<string>
  toggle: (keys: string[]) => void
  drop: (keys: string[]) => void
  clear: () => void
}

/** The rows that are selected, for `DataTable`. Another `list` begins with none. */
export function useSelection(list = ''): Selection {
  const [state, setState] = useState<{ list: string; selected: ReadonlySet<string> }>({ list, selected: new Set() })
  if (state.list !== list) setState({ list, selected: new Set() })
  const { selected } = state
  const change = useCallback(
    (alter: (after: Set<string>) => void) =>
      setState(before => {
        const after = new Set(before.selected)
        alter(after)
        return { list: before.list, selected: after }
      }),
    [],
  )
  return useMemo(
    () => ({
      selected,
      toggle: keys =>
        change(after => {
          for (const key of keys) if (!after.delete(key)) after.add(key)
        }),
      drop: keys =>
        change(after => {
          for (const key of keys) after.delete(key)
        }),
      clear: () => change(after => after.clear()),
    }),
    [selected, change],
  )
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
