import { IconAlertTriangle, IconCircleCheck, IconPlayerPause } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import type { CompanyStanding } from '../../api/companies.ts'
import { useReasonText } from '../../components/reason-text.ts'
import { Tone } from '../../components/values.tsx'
import { useFormat } from '../../lib/format.ts'

const STATE_LOOKS = {
  active: ['green', IconCircleCheck],
  warned: ['amber', IconAlertTriangle],
  paused: ['red', IconPlayerPause],
} as const

/** Who pauses a company with too many bounces or complaints. */
const BY_RATES = 'reputation'

export function State({ state }: Pick<CompanyStanding, 'state'>) {
  const { t } = useTranslation('companies')
  return <Tone look={STATE_LOOKS[state]}>{t(`states.${state}`)}</Tone>
}

/** Since when and why it is warned or paused. Nothing for one in good standing. */
export function StateReason({ company }: { company: CompanyStanding }) {
  const { t } = useTranslation('companies')
  const format = useFormat()
  const reasonText = useReasonText()
  const { state, pausedAt, pauseReason, pausedBy, warnedAt, warnReason } = company
  if (state === 'active') return null
  const [at, why] = state === 'paused' ? [pausedAt, pauseReason] : [warnedAt, warnReason]
  return (
    <span className="quiet">
      {t('stateSince', { time: format.dateTime(at!), reason: reasonText(why ?? '') })}
      {state === 'paused' && pausedBy && (
        <> ({pausedBy === BY_RATES ? t('pausedByRates') : t('pausedBy', { who: pausedBy })})</>
      )}
    </span>
  )
}
