import { Group, Progress, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { ChartCard } from '../../components/ChartCard.tsx'
import { LineChart } from '../../components/LineChart.tsx'
import { Panel } from '../../components/Panel.tsx'
import { Tile, Tiles } from '../../components/Tile.tsx'
import { useFormat } from '../../lib/format.ts'
import { firstUnfinished } from '../../lib/unfinished.ts'
import { REASONS, type Reason, type Stats } from './data.ts'
import { ReasonText } from './ReasonText.tsx'

/** Total active, hard bounces, complaints, and how often the list stops an e-mail. */
export function StatTiles({ stats: { active, last24Hours } }: { stats: Stats }) {
  const { t } = useTranslation('suppression')
  const { number, percent } = useFormat()
  const share = (count: number) => t('tiles.share', { share: percent(active.total === 0 ? 0 : count / active.total) })
  const { requests, blocked, hitRate } = last24Hours
  return (
    <Tiles>
      <Tile label={t('tiles.total')} value={number(active.total)} hint={t('tiles.totalHint')} />
      <Tile label={t('tiles.bounces')} value={number(active.HARD_BOUNCE)} hint={share(active.HARD_BOUNCE)} />
      <Tile label={t('tiles.complaints')} value={number(active.COMPLAINT)} hint={share(active.COMPLAINT)} />
      <Tile
        label={t('tiles.hitRate')}
        value={requests === 0 ? '–' : percent(hitRate / 100)}
        hint={requests === 0 ? t('tiles.noRequests') : t('tiles.hits', { blocked: number(blocked), count: requests })}
      />
    </Tiles>
  )
}

const SERIES = { added: '#c2362b, #ff7b72', removed: '#1a7f37, #3fb950', expired: '#6c757d, #9aa4ae' } as const
const NAMES = ['added', 'removed', 'expired'] as const

export function GrowthChart({ stats: { growth } }: { stats: Stats }) {
  const { t } = useTranslation('suppression')
  const { number, compact, utcDay: day } = useFormat()
  const series = NAMES.map(name => ({ name, label: t(`growth.${name}`), color: `light-dark(${SERIES[name]})` }))
  const points = growth.map(({ day: at, added, removed, expired }) => ({ at, added, removed, expired }))
  const unfinishedFrom = firstUnfinished(points, 86_400, new Date())
  return (
    <ChartCard
      question={t('growth.question')}
      unit={t('growth.unit')}
      table={{
        unfinishedFrom,
        head: [t('growth.day'), ...series.map(({ label }) => label), t('growth.net')],
        rows: growth.map(one => [day(one.day), ...NAMES.map(name => number(one[name])), number(one.net)]),
      }}
      chart={
        <LineChart
          label={t('growth.question')}
          points={points}
          series={series}
          formatTime={day}
          formatValue={number}
          formatTick={compact}
          height={180}
          unfinishedFrom={unfinishedFrom}
        />
      }
    />
  )
}

const COLOURS: Record<Reason, string> = { HARD_BOUNCE: 'red', COMPLAINT: 'violet', MANUAL: 'gray.6' }

export function ReasonShares({ stats: { active } }: { stats: Stats }) {
  const { t } = useTranslation('suppression')
  const { number, percent } = useFormat()
  return (
    <Panel title={t('reasonsQuestion')}>
      <Stack gap="md">
        {REASONS.map(reason => {
          const share = active.total === 0 ? 0 : active[reason] / active.total
          return (
            <div key={reason}>
              <Group justify="space-between" gap="xs">
                <ReasonText reason={reason} />
                <Text size="sm" className="numbers nowrap">
                  {number(active[reason])} · {percent(share)}
                </Text>
              </Group>
              <Progress
                value={Math.round(share * 1000) / 10}
                color={COLOURS[reason]}
                size="sm"
                mt={4}
                aria-label={t(`reasons.${reason}`)}
              />
            </div>
          )
        })}
      </Stack>
    </Panel>
  )
}
