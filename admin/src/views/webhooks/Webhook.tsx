import { Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { IconCircleCheck, IconCircleX, IconClock } from '@tabler/icons-react'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { createLazyRoute, getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, read, type Schemas } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { ConfirmDialog, DetailsDrawer, SecretOnce } from '../../components/dialogs.tsx'
import { FilterSelect, Filters } from '../../components/Filters.tsx'
import { Facts } from '../../components/facts.tsx'
import { Page, Tile, Tiles } from '../../components/Page.tsx'
import { EmptyState, QueryState } from '../../components/states.tsx'
import { type Column, cursorPages, DataTable } from '../../components/table.tsx'
import { useChange, useNotifyRefusal } from '../../components/use-change.ts'
import { CodeBlock, IdText, LongText, TextLink, TimeText, Tone } from '../../components/values.tsx'
import { useFormat } from '../../lib/format.ts'
import { DELIVERY_STATES } from '../../searches.ts'
import {
  successRate,
  WEBHOOKS,
  WebhookDialog,
  type WebhookForm,
  type WebhookOverview,
  WebhookState,
} from './WebhookTable.tsx'

export const Route = createLazyRoute('/signed-in/webhooks/$webhookId')({ component: Webhook })

type WebhookDelivery = Schemas['WebhookDelivery']

const webhookQuery = (webhookId: string) => ({
  ...read('/admin/webhooks/{webhookId}', { path: { webhookId } }),
  refetchInterval: 5_000,
})

function Webhook() {
  const { t } = useTranslation('webhooks')
  const { webhookId } = Route.useParams()
  const query = useQuery(webhookQuery(webhookId))
  const webhook = query.data
  return (
    <Page
      title={webhook?.url ?? t('endpoint')}
      subtitle={webhook && <Subtitle webhook={webhook} />}
      back={{ to: '/webhooks', label: t('back') }}
      actions={webhook && <WebhookActions webhook={webhook} />}
    >
      <QueryState query={query} skeleton={<Skeleton height={320} />}>
        {data => (
          <>
            <Figures webhook={data} />
            <Deliveries webhook={data} />
          </>
        )}
      </QueryState>
    </Page>
  )
}

function Subtitle({ webhook }: { webhook: WebhookOverview }) {
  const { t } = useTranslation('webhooks')
  const format = useFormat()
  const { companyId, companyName, description, test, eventTypes, previousSecretUntil } = webhook
  return (
    <>
      <WebhookState webhook={webhook} />{' '}
      <TextLink inherit underline="always" to="/companies/$companyId/$tab" params={{ companyId, tab: 'webhooks' }}>
        {companyName}
      </TextLink>
      {test && ` · ${t('test')}: ${t('testHint')}`}
      {description && ` · ${description}`}
      <div className="mono">{eventTypes.join(', ')}</div>
      {previousSecretUntil && <div>{t('previousUntil', { time: format.dateTime(previousSecretUntil) })}</div>}
    </>
  )
}

/** The deliveries have all of it. */
function Failure({ error }: { error: string | null }) {
  return (
    <Text size="sm" lineClamp={4} title={error ?? undefined}>
      {error}
    </Text>
  )
}

function Figures({ webhook: { recent, waiting, createdAt } }: { webhook: WebhookOverview }) {
  const { t } = useTranslation('webhooks')
  const format = useFormat()
  const rate = successRate(recent)
  const { lastFailure } = recent
  return (
    <Tiles>
      <Tile label={t('success')} value={rate === null ? '–' : format.percent(rate)} hint={t('successHint')} />
      <Tile label={t('waiting')} value={format.number(waiting)} />
      <Tile
        label={t('lastFailure')}
        value={lastFailure ? (lastFailure.status ?? <Failure error={lastFailure.error} />) : '–'}
        hint={lastFailure && <TimeText at={lastFailure.at} />}
      />
      <Tile label={t('created')} value={<TimeText at={createdAt} />} />
    </Tiles>
  )
}

type Action = 'enable' | 'disable' | 'rotate' | 'remove'

/** Test, edit, rotate, enable or disable, remove. */
function WebhookActions({ webhook }: { webhook: WebhookOverview }) {
  const { t } = useTranslation('webhooks')
  const client = useQueryClient()
  const navigate = useNavigate()
  const change = useChange(WEBHOOKS)
  const notifyRefusal = useNotifyRefusal()
  const [asking, setAsking] = useState<Action | null>(null)
  const [editing, setEditing] = useState(false)
  const [secret, setSecret] = useState<string | null>(null)
  const params = { path: { companyId: webhook.companyId, id: webhook.id } }
  const actions: Record<Action, () => Promise<unknown>> = {
    enable: () =>
      change(
        api.PATCH('/admin/companies/{companyId}/webhooks/{id}', { params, body: { enabled: true } }),
        t('enabled'),
      ),
    disable: () =>
      change(
        api.PATCH('/admin/companies/{companyId}/webhooks/{id}', { params, body: { enabled: false } }),
        t('disabled'),
      ),
    rotate: async () => {
      const rotated = await change(api.POST('/admin/companies/{companyId}/webhooks/{id}/rotate-secret', { params }))
      setSecret(rotated.secret)
    },
    remove: () =>
      change(api.DELETE('/admin/companies/{companyId}/webhooks/{id}', { params }), t('removed'), async () => {
        await navigate({ to: '/webhooks' })
        client.removeQueries({ queryKey: webhookQuery(webhook.id).queryKey })
      }),
  }
  const [maySupport, mayChange] = [useMay('support'), useMay('administrator')]
  const button = (action: Action) => (
    <Button variant="default" onClick={() => setAsking(action)}>
      {t(action)}
    </Button>
  )
  return (
    <>
      {maySupport && (
        <Button
          onClick={() => {
            const request = api.POST('/admin/companies/{companyId}/webhooks/{id}/test', { params })
            void notifyRefusal(change(request, t('testSent')))
          }}
          disabled={!webhook.enabled}
        >
          {t('sendTest')}
        </Button>
      )}
      {mayChange && (
        <>
          <Button variant="default" onClick={() => setEditing(true)}>
            {t('edit')}
          </Button>
          {button('rotate')}
          {button(webhook.enabled ? 'disable' : 'enable')}
          {button('remove')}
        </>
      )}
      {asking && (
        <ConfirmDialog
          opened
          onClose={() => setAsking(null)}
          title={t(`${asking}Title`)}
          verb={t(asking)}
          consequence={t(`${asking}Consequence`)}
          danger={asking === 'remove' || asking === 'disable'}
          typeToConfirm={asking === 'remove' ? new URL(webhook.url).host : undefined}
          onConfirm={actions[asking]}
        />
      )}
      {editing && <EditWebhook webhook={webhook} onClose={() => setEditing(false)} />}
      <SecretOnce secret={secret} title={t('secretTitle')} onClose={() => setSecret(null)} />
    </>
  )
}

function EditWebhook({ webhook, onClose }: { webhook: WebhookOverview; onClose: () => void }) {
  const { t } = useTranslation('webhooks')
  const change = useChange(WEBHOOKS)
  const { companyId, id, url, description, eventTypes } = webhook
  const [form, setForm] = useState<WebhookForm>({ url, description: description ?? '', eventTypes })
  const save = () => {
    // A URL that stays is not sent: a changed one resets the failures.
    const newUrl = form.url.trim() === url ? undefined : form.url.trim()
    const body = { ...form, description: form.description.trim() || null, url: newUrl }
    return change(
      api.PATCH('/admin/companies/{companyId}/webhooks/{id}', { params: { path: { companyId, id } }, body }),
      t('saved'),
    )
  }
  return (
    <WebhookDialog
      opened
      onClose={onClose}
      title={t('editTitle')}
      verb={t('save')}
      form={form}
      onChange={setForm}
      onSubmit={save}
    />
  )
}

const route = getRouteApi('/signed-in/webhooks/$webhookId')
const DELIVERY_LOOKS = {
  waiting: ['grey', IconClock],
  delivered: ['green', IconCircleCheck],
  failed: ['red', IconCircleX],
} as const

function Deliveries({ webhook }: { webhook: WebhookOverview }) {
  const { t } = useTranslation('webhooks')
  const search = route.useSearch()
  const navigate = useNavigate({ from: '/webhooks/$webhookId' })
  const { delivery: opened, ...place } = search
  const { cursors, ...filter } = place
  const params = {
    path: { companyId: webhook.companyId, id: webhook.id },
    query: { ...filter, cursor: cursors?.at(-1) },
  }
  const query = useQuery({
    ...read('/admin/companies/{companyId}/webhooks/{id}/deliveries', params),
    refetchInterval: 3_000,
    placeholderData: keepPreviousData,
  })
  const close = () => void navigate({ search: place, resetScroll: false })
  return (
    <Stack gap="sm">
      <div>
        <Title order={2} size="h4">
          {t('deliveries')}
        </Title>
        <span className="quiet">{t('deliveriesHint')}</span>
      </div>
      <Filters>
        <FilterSelect
          label={t('filterState')}
          value={filter.status}
          options={DELIVERY_STATES.map(value => ({ value, label: t(`deliveryStates.${value}`) }))}
          onChange={status => void navigate({ search: { status } })}
        />
      </Filters>
      <DataTable
        label={t('deliveries')}
        columns={useColumns()}
        query={query}
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
          pages => void navigate({ search: { ...filter, cursors: pages } }),
        )}
      />
      <DetailsDrawer opened={opened !== undefined} onClose={close} title={t('exchange')}>
        {opened === undefined ? <Skeleton height={200} /> : <Exchange webhook={webhook} deliveryId={opened} />}
      </DetailsDrawer>
    </Stack>
  )
}

function DeliveryState({ status }: Pick<WebhookDelivery, 'status'>) {
  const { t } = useTranslation('webhooks')
  return <Tone look={DELIVERY_LOOKS[status]}>{t(`deliveryStates.${status}`)}</Tone>
}

/** "200 in 35 ms", or the error. One with a time and without an attempt waits for an earlier event of its e-mail. */
function useAnswerText(): (delivery: WebhookDelivery) => string {
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
      cell: ({ nextAttemptAt }) => <TimeText at={nextAttemptAt} />,
    },
  ]
}

/** One delivery: what was sent, and what came back. */
function Exchange({ webhook, deliveryId }: { webhook: WebhookOverview; deliveryId: string }) {
  const { t } = useTranslation('webhooks')
  const change = useChange(WEBHOOKS)
  const notifyRefusal = useNotifyRefusal()
  const params = { path: { companyId: webhook.companyId, id: webhook.id, deliveryId } }
  const query = useQuery({
    ...read('/admin/companies/{companyId}/webhooks/{id}/deliveries/{deliveryId}', params),
    refetchInterval: 3_000,
  })
  const may = useMay('support')
  const replay = () => {
    const request = api.POST('/admin/companies/{companyId}/webhooks/{id}/deliveries/{deliveryId}/replay', { params })
    return notifyRefusal(change(request, t('replayed')))
  }
  return (
    <QueryState query={query} skeleton={<Skeleton height={320} />}>
      {exchange => (
        <Stack>
          <Summary exchange={exchange} />
          {may && (
            <Group>
              <Button variant="default" onClick={() => void replay()} disabled={!webhook.enabled}>
                {t('replay')}
              </Button>
            </Group>
          )}
          <Title order={3} size="h5">
            {t('request')}
          </Title>
          <LongText>
            <Text size="sm" className="mono">
              POST {exchange.request.url}
            </Text>
          </LongText>
          {exchange.request.body === null ? (
            <Text className="quiet">{t('requestGone')}</Text>
          ) : (
            <CodeBlock code={indented(exchange.request.body)} />
          )}
          <Title order={3} size="h5">
            {t(exchange.attempts === 0 && exchange.lastAttemptAt ? 'responseBefore' : 'response')}
          </Title>
          {exchange.lastAnswer ? (
            <CodeBlock code={exchange.lastAnswer} />
          ) : (
            <Text className="quiet">
              {t(
                exchange.lastAttemptAt
                  ? 'responseEmpty'
                  : exchange.status === 'failed'
                    ? 'endpointDisabled'
                    : 'noAnswer',
              )}
            </Text>
          )}
        </Stack>
      )}
    </QueryState>
  )
}

function Summary({ exchange }: { exchange: Schemas['WebhookExchange'] }) {
  const { t } = useTranslation('webhooks')
  const answerText = useAnswerText()
  const { type, status, outboxId, attempts, createdAt, nextAttemptAt, request } = exchange
  return (
    <Facts
      facts={[
        [
          t('event'),
          <span key="event" className="mono">
            {type}
          </span>,
        ],
        [t('state'), <DeliveryState key="state" status={status} />],
        [t('answer'), answerText(exchange)],
        [t('attempts'), attempts],
        [t('when'), <TimeText key="when" at={createdAt} exact />],
        [t('next'), nextAttemptAt && <TimeText at={nextAttemptAt} exact />],
        [t('webhookId'), <IdText key="id" id={request.webhookId} whole />],
        [
          t('email'),
          outboxId && (
            <TextLink inherit to="/emails/$outboxId" params={{ outboxId }} className="mono">
              {outboxId}
            </TextLink>
          ),
        ],
      ]}
    />
  )
}

function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
