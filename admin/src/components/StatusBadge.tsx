import {
  type Icon,
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
import { Tone, type ToneName } from './Tone.tsx'

/** Green delivered, blue sent and in progress, grey waiting, amber retrying and unknown, red failed, violet complaint. */
const STATUSES = {
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
} as const satisfies Record<string, [ToneName, Icon]>

export type Status = keyof typeof STATUSES
export const EMAIL_STATUSES = (Object.keys(STATUSES) as Status[]).filter(status => status !== 'SUPPRESSED')

/** The status of an e-mail or of a recipient. */
export function StatusBadge({ status }: { status: Status }) {
  const { t } = useTranslation()
  const [tone, icon] = STATUSES[status]
  return (
    <Tone tone={tone} icon={icon}>
      {t(`status.${status}`)}
    </Tone>
  )
}
