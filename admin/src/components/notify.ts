import { notifications } from '@mantine/notifications'
import type { ReactNode } from 'react'

/** A toast about the result of a change; give it a link to what was changed. */
export const notify = {
  done: (message: ReactNode) => notifications.show({ message, color: 'teal', autoClose: 6_000, role: 'status' }),
  failed: (message: ReactNode) => notifications.show({ message, color: 'red', autoClose: false, role: 'alert' }),
}
