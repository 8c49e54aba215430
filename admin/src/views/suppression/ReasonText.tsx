import { IconHandStop, IconMailX, IconMessageReport } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { Tone } from '../../components/Tone.tsx'
import type { Reason } from './data.ts'

const TONES = {
  HARD_BOUNCE: ['red', IconMailX],
  COMPLAINT: ['violet', IconMessageReport],
  MANUAL: ['grey', IconHandStop],
} as const

export function ReasonText({ reason }: { reason: Reason }) {
  const { t } = useTranslation('suppression')
  const [tone, icon] = TONES[reason]
  return (
    <Tone tone={tone} icon={icon}>
      {t(`reasons.${reason}`)}
    </Tone>
  )
}
