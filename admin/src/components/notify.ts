import { notifications } from '@mantine/notifications'
import i18next from 'i18next'
import type { ReactNode } from 'react'

const show = (message: ReactNode, options: { color: string; autoClose: number | false; role: string }) =>
  notifications.show({ message, ...options, closeButtonProps: { 'aria-label': i18next.t('dialog.close') } })

/** A toast about the result of a change; give it a link to what was changed. */
export const notify = {
  done: (message: ReactNode) => show(message, { color: 'teal', autoClose: 6_000, role: 'status' }),
  failed: (message: ReactNode) => show(message, { color: 'red', autoClose: false, role: 'alert' }),
}
