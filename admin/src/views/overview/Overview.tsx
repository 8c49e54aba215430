import { Button, Grid, SegmentedControl, Skeleton, Stack, Text } from '@mantine/core'
import { IconAlertTriangle, IconCircleCheck, IconPlayerPause } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute, type LinkProps, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { read, type Schemas } from '../../api/client.ts'
import { CompanyFilter, Filters } from '../../components/Filters.tsx'
import { Page, Panel, Tile, Tiles } from '../../components/Page.tsx'
import { useReasonText } from '../../components/reason-text.ts'
import { QueryState } from '../../components/states.tsx'
import { TextLink, Tone } from '../../components/values.tsx'
import { useFormat } from '../../lib/format.ts'
import { useLive } from '../../lib/live.ts'
import { useNow } from '../../lib/now.ts'
import { type OverviewSearch, RANGES, type Range } from '../../searches.ts'
import { CountsChart } from './CountsChart.tsx'
import classes from './Overview.module.css'
import { type Rate, ratesOf } from './rates.ts'

/** Seldom needed. */
const LedgerDrawer = lazy(() => import('./LedgerDrawer.tsx'))

export const Route = createLazyRoute('/signed-in/')({ component: Overview })

type OverviewData = Schemas['Overview']
type ProviderState = OverviewData['providers'][number]
type Attention = OverviewData['attention'][number]

/** The last hour moves every few seconds; the others are counted by the hour. */
const REFRESH_MS: Record<Range, number> = { '1h': 10_000, '24h': 30_000, '7d': 60_000, '30d': 60_000 }

function Overview() {
  const { t } = useTranslation('overview')
  const { ledger, ...place } = Route.useSearch()
  const { range = '24h', company } = place
  const navigate = useNavigate()
  const query = useQuery({
    ...read('/admin/overview', { query: { range, company } }),
    refetchInterval: REFRESH_MS[range],
    // The figures of the last choice stay until those of the new one are there.
    placeholderData: keepPreviousData,
  })
  const live = useLive()
  return (
    <Page title={t('title')} actions={<Choices range={range} company={company} />}>
      <QueryState query={query} skeleton={<OverviewSkeleton />}>
        {data => (
          <Stack gap="md" aria-busy={query.isPlaceholderData}>
            <AttentionList attention={data.attention} ofAll={company !== undefined} />
            <TotalTiles totals={data.totals} />
            <CountsChart
              question={t('chart.question')}
              rows={data.series}
              range={range}
              bucketSeconds={data.range.bucketSeconds}
              countedUntil={data.countedUntil}
            />
            <Grid gap="md">
              <Grid.Col span={{ base: 12, md: 5 }}>
                <QueueLine queue={live?.queue ?? data.queue} ofAll={company !== undefined} />
              </Grid.Col>
              <Grid.Col span={{ base: 12, md: 7 }}>
                <ProviderStates providers={data.providers} />
              </Grid.Col>
            </Grid>
          </Stack>
        )}
      </QueryState>
      {ledger && (
        <Suspense>
          <LedgerDrawer since={ledger} onClose={() => void navigate({ to: '/', search: place, resetScroll: false })} />
        </Suspense>
      )}
    </Page>
  )
}

function Choices({ range, company }: { range: Range; company: string | undefined }) {
  const { t } = useTranslation(['overview', 'common'])
  const navigate = useNavigate()
  const show = (search: OverviewSearch) => void navigate({ to: '/', search })
  return (
    <Filters>
      <CompanyFilter value={company} onChange={chosen => show({ range, company: chosen })} />
      <SegmentedControl
        size="sm"
        aria-label={t('overview:range')}
        value={range}
        data={RANGES.map(value => ({ value, label: t(`common:rangesShort.${value}`) }))}
        onChange={chosen => show({ range: chosen, company })}
      />
    </Filters>
  )
}

const OverviewSkeleton = () => (
  <Stack gap="md">
    <Skeleton height={52} />
    <Skeleton height={92} />
    <Skeleton height={372} />
    <Skeleton height={120} />
  </Stack>
)

const PROVIDER_LOOKS = {
  healthy: ['green', IconCircleCheck],
  parked: ['red', IconPlayerPause],
  open: ['amber', IconAlertTriangle],
} as const

function ProviderStates({ providers }: { providers: ProviderState[] }) {
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
  const rate = decimal(Math.round(ratePerSecond * 10) / 10)
  return (
    <li>
      <TextLink to="/providers" size="sm">
        {name}
      </TextLink>
      <Tone look={PROVIDER_LOOKS[state]}>{t(`providers.${state}`)}</Tone>
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

/** What waits, and for how long; it moves with the live stream. `ofAll`: the rest of the page is about one company. */
function QueueLine({ queue, ofAll }: { queue: Schemas['QueueCounts']; ofAll: boolean }) {
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

function TotalTiles({ totals }: { totals: OverviewData['totals'] }) {
  const { t } = useTranslation('overview')
  const { number, percent } = useFormat()
  const hintOf = ({ of, part, whole, share }: Rate) => {
    if (share !== null) return t(`shareOf.${of}`, { part: number(part), count: whole })
    return part === 0 ? t('nothingYet') : t(`countOf.${of}`, { count: part })
  }
  return (
    <Tiles>
      <Tile
        label={t('counted.accepted')}
        value={number(totals.accepted)}
        hint={t('sentOfThem', { count: totals.sent })}
      />
      {ratesOf(totals).map(rate => (
        <Tile
          key={rate.name}
          label={t(`counted.${rate.name}`)}
          value={rate.share !== null ? percent(rate.share) : rate.part > 0 ? number(rate.part) : '–'}
          hint={hintOf(rate)}
        />
      ))}
    </Tiles>
  )
}

const TEXTS = {
  'ledger-imbalance': 'ledgerImbalance',
  'dead-letters': 'deadLetters',
  'provider-parked': 'providerParked',
  'no-worker': 'noWorker',
  'waiting-long': 'waitingLong',
  'unknown-sends': 'unknownSends',
  'company-paused': 'companyPaused',
  'company-warned': 'companyWarned',
  'webhooks-disabled': 'webhooksDisabled',
} as const satisfies Record<Attention['kind'], string>

/** The figures below stay in sight. */
const FIRST = 5

/** Counted over the queue, whatever company is chosen. */
const OF_ALL: Attention['kind'][] = ['no-worker', 'waiting-long', 'unknown-sends']

/** What somebody should look at, each with a link to where it is handled. `ofAll`: the rest of the page is about one company. */
function AttentionList({ attention, ofAll }: { attention: Attention[]; ofAll: boolean }) {
  const { t } = useTranslation('overview')
  const [all, setAll] = useState(false)
  if (attention.length === 0)
    return (
      <div className={classes.fine}>
        <IconCircleCheck size={18} aria-hidden /> {t('attention.none')}
      </div>
    )
  return (
    <section className={classes.attention} aria-label={t('attention.title')}>
      <strong>{t('attention.title')}</strong>
      <ul className={classes.list}>
        {attention.slice(0, all ? attention.length : FIRST).map(entry => (
          <Entry key={`${entry.kind} ${entry.code} ${entry.companyId}`} attention={entry} ofAll={ofAll} />
        ))}
      </ul>
      {!all && attention.length > FIRST && (
        <Button variant="subtle" size="compact-sm" onClick={() => setAll(true)}>
          {t('attention.all', { count: attention.length })}
        </Button>
      )}
    </section>
  )
}

function Entry({ attention, ofAll }: { attention: Attention; ofAll: boolean }) {
  const { t } = useTranslation('overview')
  const { dateTime, utcDay } = useFormat()
  const reasonText = useCodeText()
  const { kind, count, since, code, companyName } = attention
  const what = t(`attention.${TEXTS[kind]}`, { count, code: code ?? '', company: companyName ?? '' })
  const details = [
    ofAll && OF_ALL.includes(kind) && t('attention.ofAll'),
    kind === 'dead-letters' && companyName,
    since && t('attention.since', { time: kind === 'ledger-imbalance' ? utcDay(since) : dateTime(since) }),
    kind !== 'provider-parked' && code && reasonText(code),
  ].filter(Boolean)
  return (
    <li className={classes.entry}>
      <IconAlertTriangle size={16} aria-hidden className={classes.sign} />
      {/* A name or a reason may be long: both are whole where the link leads. */}
      <Text inherit className={classes.what} lineClamp={3} title={[what, ...details].join(' · ')}>
        {what}
        {details.length > 0 && <span className="quiet"> · {details.join(' · ')}</span>}
      </Text>
      <TextLink {...linkOf(attention)} size="sm">
        {t('attention.review')}
      </TextLink>
    </li>
  )
}

/** Days of the ledger are those of UTC. */
const dayOf = (at: string | null) => (at ?? new Date().toISOString()).slice(0, 10)

function linkOf({ kind, code, companyId, since }: Attention): LinkProps {
  switch (kind) {
    case 'ledger-imbalance':
      return { to: '/', search: { ledger: dayOf(since) } }
    case 'dead-letters':
      return { to: '/dead-letters', search: { code: code ?? undefined, company: companyId ?? undefined } }
    case 'provider-parked':
      return { to: '/providers' }
    case 'no-worker':
    case 'waiting-long':
      return { to: '/emails', search: { status: 'PENDING' } }
    case 'unknown-sends':
      return { to: '/emails', search: { status: 'UNKNOWN' } }
    case 'company-paused':
    case 'company-warned':
      return { to: '/companies/$companyId', params: { companyId: companyId! } }
    case 'webhooks-disabled':
      return { to: '/companies/$companyId/$tab', params: { companyId: companyId!, tab: 'webhooks' } }
  }
}

/** Why an endpoint was disabled, in words; other reasons as everywhere. */
function useCodeText(): (code: string) => string {
  const { t } = useTranslation('webhooks')
  const reasonText = useReasonText()
  const disabled = t('disabledReasons', { returnObjects: true }) as Record<string, string>
  return code => disabled[code] ?? reasonText(code)
}
