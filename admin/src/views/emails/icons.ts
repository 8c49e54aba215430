import {
  type Icon,
  IconAlertTriangle,
  IconCircleCheck,
  IconCircleX,
  IconClock,
  IconHelpCircle,
  IconLoader,
  IconParking,
  IconPlayerSkipForward,
  IconPlugConnectedX,
  IconRefresh,
  IconSend,
} from '@tabler/icons-react'
import type { Email } from './queries.ts'

export const ATTEMPT_ICONS: Record<Email['attemptList'][number]['end'], Icon> = {
  sent: IconSend,
  retry: IconRefresh,
  throttled: IconClock,
  unconnected: IconPlugConnectedX,
  parked: IconParking,
  rejected: IconCircleX,
  failed: IconAlertTriangle,
  unknown: IconHelpCircle,
  uncalled: IconPlayerSkipForward,
  running: IconLoader,
}

export const WEBHOOK_ICONS: Record<Email['webhooks'][number]['status'], Icon> = {
  waiting: IconClock,
  delivered: IconCircleCheck,
  failed: IconCircleX,
}
