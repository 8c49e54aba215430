import { Text } from '@mantine/core'
import { IconAlertTriangle, IconCircleCheck, IconPlayerPause } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { TextLink } from '../../components/links.tsx'
import { Panel } from '../../components/Panel.tsx'
import { Tone } from '../../components/Tone.tsx'
import { useFormat } from '../../lib/format.ts'
import { useNow } from '../../lib/now.ts'
import type { ProviderState } from './data.ts'
import classes from './Overview.module.css'

const STATES = {
  healthy: ['green', IconCircleCheck],
  parked: ['red', IconPlayerPause],
  open: ['amber', IconAlertTriangle],
} as const

export function ProviderStates({ providers }: { providers: ProviderState[] }) {
  const { t } = useTranslation('overview')
  return (
    <Panel title={t('providers.title')}>
      {providers.length === 0 && <span className="quiet">{t('providers.none')}</span>}
      <ul className={classes.list}>
        {providers.map(provider => (
          <Provider key={provider.name} {...provider} />
        ))}
      </ul>
    </Panel>
  )
}

function Provider({ name, state, reason, nextProbeAt, ratePerSecond, maxPerSecond }: ProviderState) {
  const { t } = useTranslation(['overview', 'providers'])
  const { decimal, relative } = useFormat()
  const now = useNow()
  const [tone, icon] = STATES[state]
  const rate = decimal(Math.round(ratePerSecond * 10) / 10)
  return (
    <li>
      <TextLink to="/providers" size="sm">
        {name}
      </TextLink>
      <Tone tone={tone} icon={icon}>
        {t(`providers.${state}`)}
      </Tone>
      {state !== 'healthy' && reason && (
        <Text inherit className="quiet" lineClamp={3} title={reason}>
          {reason}
        </Text>
      )}
      {nextProbeAt && (
        <span className="quiet">
          {t('providers.probe', {
            when: Date.parse(nextProbeAt) <= now ? t('providers:probeDue') : relative(nextProbeAt, now),
          })}
        </span>
      )}
      <span className={`${classes.end} numbers`}>
        {maxPerSecond === null
          ? t('providers.rate', { rate })
          : t('providers.rateOf', { rate, max: decimal(maxPerSecond) })}
      </span>
    </li>
  )
}
