import { Spoiler } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'

const FOUR_LINES_PX = 84

/** A text that may be very long, such as a URL: four lines of it, and a button that shows all. */
export function LongText({ children }: { children: ReactNode }) {
  const { t } = useTranslation()
  return (
    <Spoiler maxHeight={FOUR_LINES_PX} showLabel={t('longText.all')} hideLabel={t('longText.less')}>
      {children}
    </Spoiler>
  )
}
