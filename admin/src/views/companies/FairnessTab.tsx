import { Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import type { Schemas } from '../../api/client.ts'
import { type Company, fairnessQuery } from '../../api/company.ts'
import { ChartCard } from '../../components/ChartCard.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { TextLink } from '../../components/links.tsx'
import { QueryState } from '../../components/QueryState.tsx'
import { useFormat } from '../../lib/format.ts'
import classes from './FairnessTab.module.css'

type Turn = Schemas['CompanyTurn']

/** Who is served how often, beside the share that the weights give, and who waits how long. */
export function FairnessTab({ company }: { company: Company }) {
  const query = useQuery(fairnessQuery(company.companyId))
  return (
    <QueryState query={query} skeleton={<Skeleton height={320} />}>
      {fairness => <Picture fairness={fairness} own={company.companyId} />}
    </QueryState>
  )
}

function Picture({ fairness, own }: { fairness: Schemas['Fairness']; own: string }) {
  const { t } = useTranslation('companies')
  const format = useFormat()
  const { data, attempts, competing, windowSeconds } = fairness
  if (competing === 0) return <EmptyState title={t('fairness.idle')} hint={t('fairness.idleHint')} />
  const others = competing - data.filter(one => one.ready > 0 || one.attempts > 0).length
  const largest = Math.max(...data.map(one => Math.max(one.share, one.fairShare)), 0.01)
  return (
    <ChartCard
      question={t('fairness.question')}
      unit={t('fairness.unit', { attempts: format.number(attempts), minutes: windowSeconds / 60 })}
      table={{
        head: [
          t('company'),
          t('fairness.attempts'),
          t('fairness.share'),
          t('fairness.fair'),
          t('waiting'),
          t('fairness.oldest'),
        ],
        rows: data.map(one => [
          one.name,
          format.number(one.attempts),
          format.percent(one.share),
          format.percent(one.fairShare),
          format.number(one.ready),
          one.oldestWaitingSeconds === null ? '–' : format.duration(one.oldestWaitingSeconds),
        ]),
      }}
      chart={
        <>
          <ul className={classes.rows}>
            {data.map(one => (
              <Row key={one.companyId} turn={one} largest={largest} isOwn={one.companyId === own} />
            ))}
          </ul>
          {others > 0 && (
            <Text size="sm" className="quiet" mt="xs">
              {t('fairness.others', { count: others })}
            </Text>
          )}
        </>
      }
    />
  )
}

function Row({ turn, largest, isOwn }: { turn: Turn; largest: number; isOwn: boolean }) {
  const { t } = useTranslation('companies')
  const format = useFormat()
  const waits =
    turn.oldestWaitingSeconds === null
      ? t('fairness.nothingWaits')
      : `${t('fairness.ready', { ready: format.number(turn.ready) })}, ${t('fairness.waits', { time: format.duration(turn.oldestWaitingSeconds) })}`
  return (
    <li className={classes.row} data-own={isOwn || undefined}>
      <div className={classes.name}>
        <TextLink
          inherit
          underline="always"
          to="/companies/$companyId/$tab"
          params={{ companyId: turn.companyId, tab: 'fairness' }}
        >
          {turn.name}
        </TextLink>{' '}
        <span className="quiet">
          {turn.paused ? t('fairness.paused') : t('fairness.weight', { weight: turn.weight })}
        </span>
      </div>
      <svg className={classes.bar} viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden>
        <rect className={classes.track} width="100" height="10" />
        <rect className={classes.share} width={(turn.share / largest) * 100} height="10" />
        {turn.fairShare > 0 && (
          <rect
            className={classes.fair}
            x={Math.min(99.4, (turn.fairShare / largest) * 100 - 0.3)}
            width="0.6"
            height="10"
          />
        )}
      </svg>
      <div className={`${classes.figures} numbers`}>
        {format.percent(turn.share)} <span className="quiet">/ {format.percent(turn.fairShare)}</span>
      </div>
      <div className={`${classes.waits} quiet`}>{waits}</div>
    </li>
  )
}
