import { Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { api, type Schemas, take } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { exchangeQuery, WEBHOOKS_KEY, type WebhookOverview } from '../../api/webhooks.ts'
import { CodeBlock } from '../../components/CodeBlock.tsx'
import { useErrorText } from '../../components/error-text.ts'
import { IdText } from '../../components/IdText.tsx'
import { LongText } from '../../components/LongText.tsx'
import { TextLink } from '../../components/links.tsx'
import { notify } from '../../components/notify.ts'
import { QueryState } from '../../components/QueryState.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import { Facts } from '../companies/Facts.tsx'
import { DeliveryState, useAnswerText } from './Deliveries.tsx'

/** One delivery: what was sent, and what came back. */
export function Exchange({ webhook, deliveryId }: { webhook: WebhookOverview; deliveryId: string }) {
  const { t } = useTranslation('webhooks')
  const client = useQueryClient()
  const errorText = useErrorText()
  const query = useQuery(exchangeQuery(webhook, deliveryId))
  const may = useMay('support')
  const replay = async () => {
    try {
      const path = { companyId: webhook.companyId, id: webhook.id, deliveryId }
      await take(
        api.POST('/admin/companies/{companyId}/webhooks/{id}/deliveries/{deliveryId}/replay', { params: { path } }),
      )
      notify.done(t('replayed'))
      await client.invalidateQueries({ queryKey: WEBHOOKS_KEY })
    } catch (error) {
      notify.failed(errorText(error))
    }
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
        ...(nextAttemptAt
          ? [[t('next'), <TimeText key="next" at={nextAttemptAt} exact />] satisfies [string, React.ReactNode]]
          : []),
        [t('webhookId'), <IdText key="id" id={request.webhookId} whole />],
        ...(outboxId
          ? [
              [
                t('email'),
                <TextLink inherit key="email" to="/emails/$outboxId" params={{ outboxId }} className="mono">
                  {outboxId}
                </TextLink>,
              ] satisfies [string, React.ReactNode],
            ]
          : []),
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
