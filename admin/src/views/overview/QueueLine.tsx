import { useTranslation } from 'react-i18next'
import { TextLink } from '../../components/links.tsx'
import { Panel } from '../../components/Panel.tsx'
import { useFormat } from '../../lib/format.ts'
import type { QueueCounts } from './data.ts'
import classes from './Overview.module.css'

/** What waits, and for how long; it moves with the live stream. `ofAll`: the rest of the page is about one company. */
export function QueueLine({ queue, ofAll }: { queue: QueueCounts; ofAll: boolean }) {
  const { t } = useTranslation('overview')
  const { number, duration } = useFormat()
  // The ones of paused companies are ready, and no wait is counted for them.
  const noneOldest = t(queue.held > 0 ? 'queue.noneToSend' : 'queue.none')
  const oldest = queue.ready === 0 ? null : queue.oldestWaitingSeconds
  return (
    <Panel title={t(ofAll ? 'queue.titleOfAll' : 'queue.title')}>
      <dl className={classes.facts}>
        <dt>{t('queue.ready')}</dt>
        <dd>
          {number(queue.ready)}
          {queue.held > 0 && <span className="quiet"> {t('queue.held', { count: queue.held })}</span>}
        </dd>
        <dt>{t('queue.oldest')}</dt>
        <dd>{oldest === null ? <span className="quiet">{noneOldest}</span> : duration(oldest)}</dd>
        <dt>{t('queue.scheduled')}</dt>
        <dd>{number(queue.scheduled)}</dd>
        <dt>{t('queue.unknown')}</dt>
        <dd>{number(queue.unknown)}</dd>
        <dt>{t('queue.deadLetters')}</dt>
        <dd>
          <TextLink to="/dead-letters" size="sm">
            {number(queue.deadLetters)}
          </TextLink>
        </dd>
      </dl>
    </Panel>
  )
}
