import {
  IconAlertTriangle,
  IconBan,
  IconCalendarX,
  IconCircleCheck,
  IconCircleX,
  IconClock,
  IconHelpCircle,
  IconLoader,
  IconMailX,
  IconMessageReport,
  IconRefresh,
  IconSend,
} from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import type { EMAIL_STATUSES } from '../searches.ts'
import { Tone, type ToneLook } from './values.tsx'

export type Status = (typeof EMAIL_STATUSES)[number] | 'SUPPRESSED'

/** Green delivered, blue sent and in progress, grey waiting, amber retrying and unknown, red failed, violet complaint. */
const STATUSES: Record<Status, ToneLook> = {
  PENDING: ['grey', IconClock],
  PROCESSING: ['blue', IconLoader],
  RETRY_SCHEDULED: ['amber', IconRefresh],
  UNKNOWN: ['amber', IconHelpCircle],
  SENT: ['blue', IconSend],
  DELIVERED: ['green', IconCircleCheck],
  BOUNCED: ['red', IconMailX],
  COMPLAINED: ['violet', IconMessageReport],
  REJECTED: ['red', IconCircleX],
  FAILED: ['red', IconCircleX],
  DLQ: ['red', IconAlertTriangle],
  EXPIRED: ['red', IconCalendarX],
  CANCELLED: ['grey', IconBan],
  SUPPRESSED: ['red', IconBan],
}

/** The status of an e-mail or of a recipient. */
export function StatusBadge({ status }: { status: Status }) {
  const { t } = useTranslation()
  return <Tone look={STATUSES[status]}>{t(`status.${status}`)}</Tone>
}
