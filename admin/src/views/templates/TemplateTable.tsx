import { IconCircleCheck, IconPencil, IconTemplate } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import type { TemplateOverview } from '../../api/templates.ts'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { TextLink } from '../../components/links.tsx'
import type { PagesProps } from '../../components/Pages.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import { Tone } from '../../components/Tone.tsx'
import { useFormat } from '../../lib/format.ts'

type TemplateTableProps = {
  rows: TemplateOverview[] | undefined
  /** On the page of a company: without the column of the company. */
  ofCompany?: boolean
  filtered?: boolean
  pages?: PagesProps
}

export function TemplateTable({ rows, ofCompany = false, filtered = false, pages }: TemplateTableProps) {
  const { t } = useTranslation('templates')
  const navigate = useNavigate()
  const columns = useColumns()
  return (
    <DataTable
      label={t('title')}
      columns={ofCompany ? columns.filter(({ key }) => key !== 'company') : columns}
      rows={rows}
      rowKey={template => template.id}
      onOpen={({ id }) => void navigate({ to: '/templates/$templateId', params: { templateId: id } })}
      empty={
        filtered ? (
          <EmptyState title={t('none')} />
        ) : (
          <EmptyState title={t('empty')} hint={t(ofCompany ? 'emptyHintOfCompany' : 'emptyHint')} />
        )
      }
      {...(pages && { pages })}
    />
  )
}

export function TemplateState({ template }: { template: Pick<TemplateOverview, 'starter' | 'published' | 'draft'> }) {
  const { t } = useTranslation('templates')
  const { starter, published, draft } = template
  return (
    <>
      {starter ? (
        <Tone tone="grey" icon={IconTemplate}>
          {t('starter')}
        </Tone>
      ) : published === null ? (
        <Tone tone="grey" icon={IconPencil}>
          {t('notPublished')}
        </Tone>
      ) : (
        <Tone tone="green" icon={IconCircleCheck}>
          {t('published', { version: published })}
        </Tone>
      )}{' '}
      {draft !== null && (
        <Tone tone="amber" icon={IconPencil}>
          {t('draft', { version: draft })}
        </Tone>
      )}
    </>
  )
}

function useColumns(): Column<TemplateOverview>[] {
  const { t } = useTranslation('templates')
  const format = useFormat()
  const none = <span className="quiet">–</span>
  return [
    {
      key: 'type',
      header: t('type'),
      wide: true,
      cell: ({ id, type }) => (
        <TextLink inherit to="/templates/$templateId" params={{ templateId: id }} className="mono">
          {type}
        </TextLink>
      ),
    },
    { key: 'locale', header: t('locale'), cell: ({ locale }) => locale },
    {
      key: 'company',
      header: t('company'),
      name: true,
      cell: ({ companyId, companyName }) =>
        companyId === null ? (
          none
        ) : (
          <TextLink inherit to="/companies/$companyId/$tab" params={{ companyId, tab: 'templates' }}>
            {companyName}
          </TextLink>
        ),
    },
    { key: 'state', header: t('state'), cell: template => <TemplateState template={template} /> },
    {
      key: 'accepted',
      header: t('accepted'),
      align: 'right',
      cell: ({ figures }) => (figures ? format.number(figures.accepted) : none),
    },
    {
      key: 'failed',
      header: t('failed'),
      align: 'right',
      cell: ({ figures }) =>
        figures && figures.sent + figures.failed > 0
          ? format.percent(figures.failed / (figures.sent + figures.failed))
          : none,
    },
    {
      key: 'retries',
      header: t('retries'),
      align: 'right',
      cell: ({ figures }) => (figures ? format.number(figures.retries) : none),
    },
    { key: 'changed', header: t('changed'), cell: ({ updatedAt }) => <TimeText at={updatedAt} /> },
  ]
}
