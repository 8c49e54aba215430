import { Group, Stack } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useMay } from '../api/session.ts'
import { DialogButton, type DialogState } from './dialogs.tsx'

type ListWithNewProps = { label: string; dialog: (state: DialogState) => ReactNode; children: ReactNode }

/** A list of a company, and the button that adds to it. */
export function ListWithNew({ label, dialog, children }: ListWithNewProps) {
  return (
    <Stack gap="sm">
      {useMay('administrator') && (
        <Group justify="flex-end">
          <DialogButton leftSection={<IconPlus size={16} />} dialog={dialog}>
            {label}
          </DialogButton>
        </Group>
      )}
      {children}
    </Stack>
  )
}
