import { Tooltip } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useConnection } from '../api/connection.ts'
import { useLivePolling } from '../lib/live.ts'
import classes from './LiveMark.module.css'

/** Whether counts and lists update by themselves. */
export function LiveMark() {
  const { t } = useTranslation()
  const isUp = useConnection().state === 'up'
  const isLive = useLivePolling().isSuccess && isUp
  return (
    <Tooltip label={t(isLive ? 'header.liveHint' : 'header.notLiveHint')}>
      <span className={classes.mark} data-live={isLive} role="status">
        <span className={classes.dot} aria-hidden />
        <span className={classes.word}>{t(isLive ? 'header.live' : 'header.notLive')}</span>
      </span>
    </Tooltip>
  )
}
