import { Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { successRate, type WebhookOverview } from '../../api/webhooks.ts'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { TextLink } from '../../components/links.tsx'
import type { PagesProps } from '../../components/Pages.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import { useFormat } from '../../lib/format.ts'
import { WebhookState } from './WebhookState.tsx'

type WebhookTableProps = {
  rows: WebhookOverview[] | undefined
  /** On the page of a company: without the column of the company. */
  ofCompany?: boolean
  filtered?: boolean
  pages?: PagesProps
}

export function WebhookTable({ rows, ofCompany = false, filtered = false, pages }: WebhookTableProps) {
  const { t } = useTranslation('webhooks')
  const navigate = useNavigate()
  const columns = useColumns()
  return (
    <DataTable
      label={t('title')}
      columns={ofCompany ? columns.filter(({ key }) => key !== 'company') : columns}
      rows={rows}
      rowKey={webhook => webhook.id}
      onOpen={({ id }) => void navigate({ to: '/webhooks/$webhookId', params: { webhookId: id } })}
      empty={
        filtered ? (
          <EmptyState title={t('none')} />
        ) : (
          <EmptyState title={t('empty')} hint={t(ofCompany ? 'emptyHintOfCompany' : 'emptyHint')}>
            {!ofCompany && <TextLink to="/companies">{t('toCompanies')}</TextLink>}
          </EmptyState>
        )
      }
      {...(pages && { pages })}
    />
  )
}

function useColumns(): Column<WebhookOverview>[] {
  const { t } = useTranslation('webhooks')
  const format = useFormat()
  return [
    {
      key: 'endpoint',
      header: t('endpoint'),
      wide: true,
      cell: ({ id, url, description, test }) => (
        <>
          <TextLink inherit to="/webhooks/$webhookId" params={{ webhookId: id }} lineClamp={2} title={url}>
            {url}
          </TextLink>
          {(description || test) && (
            <Text inherit className="quiet" lineClamp={2} title={description ?? undefined}>
              {[test && t('test'), description].filter(Boolean).join(' · ')}
            </Text>
          )}
        </>
      ),
    },
    {
      key: 'company',
      header: t('company'),
      name: true,
      cell: ({ companyId, companyName }) => (
        <TextLink inherit to="/companies/$companyId/$tab" params={{ companyId, tab: 'webhooks' }}>
          {companyName}
        </TextLink>
      ),
    },
    { key: 'state', header: t('state'), cell: webhook => <WebhookState webhook={webhook} /> },
    {
      key: 'success',
      header: t('success'),
      align: 'right',
      cell: ({ recent }) => {
        const rate = successRate(recent)
        return rate === null ? <span className="quiet">–</span> : format.percent(rate)
      },
    },
    {
      key: 'failure',
      header: t('lastFailure'),
      cell: ({ recent: { lastFailure } }) =>
        lastFailure ? (
          <>
            {lastFailure.status ?? (
              <Text inherit lineClamp={3} title={lastFailure.error ?? undefined}>
                {lastFailure.error}
              </Text>
            )}{' '}
            <span className="quiet">
              <TimeText at={lastFailure.at} />
            </span>
          </>
        ) : (
          <span className="quiet">–</span>
        ),
    },
    { key: 'waiting', header: t('waiting'), align: 'right', cell: ({ waiting }) => format.number(waiting) },
  ]
}
