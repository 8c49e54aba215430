import { Drawer } from '@mantine/core'
import type { ReactNode } from 'react'
import { useEscape } from '../lib/escape.ts'
import { useCloseLabel } from './ConfirmDialog.tsx'

type DetailsDrawerProps = { opened: boolean; onClose: () => void; title: string; children: ReactNode }

/** One row of a list, beside the list. Which one is in the URL. */
export function DetailsDrawer({ children, ...props }: DetailsDrawerProps) {
  useEscape(props.opened, props.onClose)
  return (
    <Drawer {...props} position="right" size="lg" lockScroll={false} closeButtonProps={useCloseLabel()}>
      {children}
    </Drawer>
  )
}
