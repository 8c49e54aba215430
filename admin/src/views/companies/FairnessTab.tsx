import { Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { read, type Schemas } from '../../api/client.ts'
import type { Company } from '../../api/companies.ts'
import { ChartCard } from '../../components/charts.tsx'
import { EmptyState, QueryState } from '../../components/states.tsx'
import { TextLink } from '../../components/values.tsx'
import { useFormat } from '../../lib/format.ts'
import classes from './FairnessTab.module.css'

type Turn = Schemas['CompanyTurn']

/** Who is served how often, beside the share that the weights give, and who waits how long. */
export function FairnessTab({ company: { companyId } }: { company: Company }) {
  const query = useQuery({
    ...read('/admin/fairness', { query: { company: companyId, limit: 15 } }),
    refetchInterval: 5_000,
  })
  return (
    <QueryState query={query} skeleton={<Skeleton height={320} />}>
      {fairness => <Picture fairness={fairness} companyId={companyId} />}
    </QueryState>
  )
}

function Picture({ fairness, companyId }: { fairness: Schemas['Fairness']; companyId: string }) {
  const { t } = useTranslation('companies')
  const format = useFormat()
  const { data, attempts, competing, windowSeconds } = fairness
  if (competing === 0) return <EmptyState title={t('fairness.idle')} hint={t('fairness.idleHint')} />
  const others = competing - data.filter(({ ready, attempts }) => ready > 0 || attempts > 0).length
  const largest = Math.max(...data.map(({ share, fairShare }) => Math.max(share, fairShare)), 0.01)
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
        rows: data.map(turn => [
          turn.name,
          format.number(turn.attempts),
          format.percent(turn.share),
          format.percent(turn.fairShare),
          format.number(turn.ready),
          turn.oldestWaitingSeconds === null ? '–' : format.duration(turn.oldestWaitingSeconds),
        ]),
      }}
      chart={
        <>
          <ul className={classes.rows}>
            {data.map(turn => (
              <Row key={turn.companyId} turn={turn} largest={largest} isChosen={turn.companyId === companyId} />
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

function Row({ turn, largest, isChosen }: { turn: Turn; largest: number; isChosen: boolean }) {
  const { t } = useTranslation('companies')
  const format = useFormat()
  const waits =
    turn.oldestWaitingSeconds === null
      ? t('fairness.nothingWaits')
      : `${t('fairness.ready', { ready: format.number(turn.ready) })}, ${t('fairness.waits', { time: format.duration(turn.oldestWaitingSeconds) })}`
  return (
    <li className={classes.row} data-own={isChosen || undefined}>
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
