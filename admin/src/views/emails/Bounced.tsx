import { IconMailX } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { Tone } from '../../components/Tone.tsx'
import type { EmailRow } from './queries.ts'

type Bounced = Pick<EmailRow, 'bounced' | 'to' | 'cc' | 'bcc'>

/** How many bounced, of those that got a copy; null: none, or all, which the status says. */
export function bouncedOf({ bounced, to, cc, bcc }: Bounced): { count: number; of: number } | null {
  const of = to.length + cc.length + bcc.length
  return bounced === 0 || bounced >= of ? null : { count: bounced, of }
}

/** Beside the status of an e-mail, which is that of its first recipient. */
export function BouncedBadge({ email }: { email: Bounced }) {
  const { t } = useTranslation('emails')
  const some = bouncedOf(email)
  if (!some) return null
  return (
    <Tone tone="red" icon={IconMailX}>
      {t('someBounced', some)}
    </Tone>
  )
}
