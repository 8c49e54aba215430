import { Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { successRate, type WebhookOverview, webhookQuery } from '../../api/webhooks.ts'
import { TextLink } from '../../components/links.tsx'
import { Page } from '../../components/Page.tsx'
import { QueryState } from '../../components/QueryState.tsx'
import { Tile, Tiles } from '../../components/Tile.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import { useFormat } from '../../lib/format.ts'
import { Deliveries } from './Deliveries.tsx'
import { WebhookActions } from './WebhookActions.tsx'
import { WebhookState } from './WebhookState.tsx'

export const Route = createLazyRoute('/signed-in/webhooks/$webhookId')({ component: Webhook })

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
        {found => (
          <>
            <Figures webhook={found} />
            <Deliveries webhook={found} />
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
