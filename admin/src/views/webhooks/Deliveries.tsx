import { Skeleton, Stack, Text, Title } from '@mantine/core'
import { IconCircleCheck, IconCircleX, IconClock } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { DELIVERY_STATES, deliveriesQuery, type WebhookDelivery, type WebhookOverview } from '../../api/webhooks.ts'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { DetailsDrawer } from '../../components/DetailsDrawer.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { FilterSelect, Filters } from '../../components/Filters.tsx'
import { TextLink } from '../../components/links.tsx'
import { StaleBar } from '../../components/QueryState.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import { Tone } from '../../components/Tone.tsx'
import { cursorPages } from '../../lib/cursor-pages.ts'
import { useFormat } from '../../lib/format.ts'
import { Exchange } from './Exchange.tsx'

const route = getRouteApi('/signed-in/webhooks/$webhookId')
const STATES = {
  waiting: ['grey', IconClock],
  delivered: ['green', IconCircleCheck],
  failed: ['red', IconCircleX],
} as const

export function Deliveries({ webhook }: { webhook: WebhookOverview }) {
  const { t } = useTranslation('webhooks')
  const search = route.useSearch()
  const navigate = useNavigate({ from: '/webhooks/$webhookId' })
  const { delivery: opened, ...place } = search
  const { cursors, ...filter } = place
  const cursor = cursors?.at(-1)
  const query = useQuery(deliveriesQuery(webhook, { ...filter, ...(cursor && { cursor }) }))
  const columns = useColumns()
  const close = () => void navigate({ search: place, resetScroll: false })
  return (
    <Stack gap="sm">
      <div>
        <Title order={2} size="h4">
          {t('deliveries')}
        </Title>
        <span className="quiet">{t('deliveriesHint')}</span>
      </div>
      <StaleBar query={query} />
      <Filters>
        <FilterSelect
          label={t('filterState')}
          value={filter.status}
          options={DELIVERY_STATES.map(value => ({ value, label: t(`deliveryStates.${value}`) }))}
          onChange={status => void navigate({ search: status ? { status } : {} })}
        />
      </Filters>
      <DataTable
        label={t('deliveries')}
        columns={columns}
        rows={query.data?.data}
        rowKey={delivery => delivery.id}
        onOpen={({ id }) => void navigate({ search: { ...place, delivery: id }, resetScroll: false })}
        empty={
          filter.status ? (
            <EmptyState title={t('noDeliveryMatches')} />
          ) : (
            <EmptyState title={t('noDeliveries')} hint={t('noDeliveriesHint')} />
          )
        }
        pages={cursorPages(
          cursors,
          query.data?.cursor,
          pages => void navigate({ search: { ...filter, ...(pages && { cursors: pages }) } }),
        )}
      />
      <DetailsDrawer opened={opened !== undefined} onClose={close} title={t('exchange')}>
        {opened === undefined ? <Skeleton height={200} /> : <Exchange webhook={webhook} deliveryId={opened} />}
      </DetailsDrawer>
    </Stack>
  )
}

export function DeliveryState({ status }: Pick<WebhookDelivery, 'status'>) {
  const { t } = useTranslation('webhooks')
  const [tone, icon] = STATES[status]
  return (
    <Tone tone={tone} icon={icon}>
      {t(`deliveryStates.${status}`)}
    </Tone>
  )
}

/** "200 in 35 ms", or the error. One with a time and without an attempt waits for an earlier event of its e-mail. */
export function useAnswerText(): (delivery: WebhookDelivery) => string {
  const { t } = useTranslation('webhooks')
  const format = useFormat()
  return ({ lastStatus, lastError, lastDurationMs, attempts, nextAttemptAt }) => {
    if (attempts === 0 && nextAttemptAt !== null) return t('behindEarlier')
    if (lastError === 'ENDPOINT_DISABLED') return t('endpointDisabled')
    const answer = lastStatus ?? lastError
    // What a replayed one was answered before is not the answer to its replay.
    if (answer === null || attempts === 0) return t('noAnswer')
    if (lastDurationMs === null) return String(answer)
    return t('took', { answer, time: format.duration(lastDurationMs / 1000) })
  }
}

function useColumns(): Column<WebhookDelivery>[] {
  const { t } = useTranslation('webhooks')
  const format = useFormat()
  const answerText = useAnswerText()
  return [
    {
      key: 'event',
      header: t('event'),
      cell: ({ id, type }) => (
        <TextLink
          inherit
          to="."
          search={previous => ({ ...previous, delivery: id }) as never}
          resetScroll={false}
          className="mono nowrap"
        >
          {type}
        </TextLink>
      ),
    },
    { key: 'state', header: t('state'), cell: ({ status }) => <DeliveryState status={status} /> },
    {
      key: 'answer',
      header: t('answer'),
      wide: true,
      cell: delivery => (
        <Text inherit lineClamp={2} title={answerText(delivery)}>
          {answerText(delivery)}
        </Text>
      ),
    },
    { key: 'attempts', header: t('attempts'), align: 'right', cell: ({ attempts }) => format.number(attempts) },
    { key: 'when', header: t('when'), cell: ({ createdAt }) => <TimeText at={createdAt} /> },
    {
      key: 'next',
      header: t('next'),
      cell: ({ nextAttemptAt }) => (nextAttemptAt ? <TimeText at={nextAttemptAt} /> : <span className="quiet">–</span>),
    },
  ]
}
