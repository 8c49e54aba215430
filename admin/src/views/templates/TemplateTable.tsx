import { Textarea, TextInput } from '@mantine/core'
import { IconCircleCheck, IconPencil, IconTemplate } from '@tabler/icons-react'
import { keepPreviousData, queryOptions, type UseQueryResult, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type ChangeEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, read, type Schemas } from '../../api/client.ts'
import type { Company } from '../../api/companies.ts'
import { type DialogState, type ErrorOf, FormDialog } from '../../components/dialogs.tsx'
import { ListWithNew } from '../../components/ListWithNew.tsx'
import { EmptyState } from '../../components/states.tsx'
import { type Column, DataTable, type PagesProps } from '../../components/table.tsx'
import { useChange } from '../../components/use-change.ts'
import { NONE, TextLink, TimeText, Tone } from '../../components/values.tsx'
import { useFormat } from '../../lib/format.ts'

type TemplateOverview = Schemas['TemplateOverview']

export const TEMPLATES = '/admin/templates'

export const templatesQuery = (query: { companyId?: string; text?: string; cursor?: string; limit?: number }) =>
  queryOptions({ ...read(TEMPLATES, { query }), placeholderData: keepPreviousData })

/** The templates of a company, on its page. */
export function TemplatesTab({ company }: { company: Company }) {
  const { t } = useTranslation('templates')
  const query = useQuery(templatesQuery({ companyId: company.companyId, limit: 200 }))
  return (
    <ListWithNew label={t('new')} dialog={state => <NewTemplate {...state} company={company} />}>
      <TemplateTable query={query} ofCompany />
    </ListWithNew>
  )
}

const EMPTY_DRAFT = { type: '', locale: '', subject: '', html: '<p>{{ name }},</p>\n<p>…</p>\n' }
type DraftField = keyof typeof EMPTY_DRAFT
const DRAFT_FIELDS = Object.keys(EMPTY_DRAFT) as DraftField[]

/** A new draft, which opens in the editor. */
function NewTemplate({ company: { companyId, name }, ...dialog }: DialogState & { company: Company }) {
  const { t } = useTranslation('templates')
  const change = useChange(TEMPLATES)
  const navigate = useNavigate()
  const [draft, setDraft] = useState(EMPTY_DRAFT)
  const create = async () => {
    const body = { ...draft, type: draft.type.trim(), locale: draft.locale.trim() || undefined }
    const request = api.POST('/admin/companies/{companyId}/templates', { params: { path: { companyId } }, body })
    const { id } = await change(request, t('created'))
    await navigate({ to: '/templates/$templateId', params: { templateId: id } })
  }
  const fieldOf = (errorOf: ErrorOf) => (field: DraftField) => ({
    label: t(field),
    error: errorOf(field),
    value: draft[field],
    onChange: ({ currentTarget: { value } }: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) =>
      setDraft({ ...draft, [field]: value }),
  })
  return (
    <FormDialog
      {...dialog}
      title={t('newTitle', { name })}
      verb={t('create')}
      onSubmit={create}
      disabled={draft.type.trim() === '' || draft.subject === ''}
      fields={DRAFT_FIELDS}
    >
      {errorOf => {
        const field = fieldOf(errorOf)
        return (
          <>
            <TextInput {...field('type')} description={t('typeHint')} maxLength={64} data-autofocus />
            <TextInput {...field('locale')} description={t('localeHint')} maxLength={6} />
            <TextInput {...field('subject')} maxLength={500} />
            <Textarea {...field('html')} classNames={{ input: 'mono' }} autosize minRows={4} maxRows={12} />
          </>
        )
      }}
    </FormDialog>
  )
}

type TemplateTableProps = {
  query: UseQueryResult<{ data: TemplateOverview[] }>
  /** On the page of a company: without the column of the company. */
  ofCompany?: boolean
  filtered?: boolean
  pages?: PagesProps
}

export function TemplateTable({ query, ofCompany, filtered, pages }: TemplateTableProps) {
  const { t } = useTranslation('templates')
  const navigate = useNavigate()
  return (
    <DataTable
      label={t('title')}
      columns={useColumns().filter(({ key }) => !ofCompany || key !== 'company')}
      query={query}
      rowKey={template => template.id}
      onOpen={({ id }) => void navigate({ to: '/templates/$templateId', params: { templateId: id } })}
      empty={
        filtered ? (
          <EmptyState title={t('none')} />
        ) : (
          <EmptyState title={t('empty')} hint={t(ofCompany ? 'emptyHintOfCompany' : 'emptyHint')} />
        )
      }
      pages={pages}
    />
  )
}

export function TemplateState({ template }: { template: Pick<TemplateOverview, 'starter' | 'published' | 'draft'> }) {
  const { t } = useTranslation('templates')
  const { starter, published, draft } = template
  return (
    <>
      {starter ? (
        <Tone look={['grey', IconTemplate]}>{t('starter')}</Tone>
      ) : published === null ? (
        <Tone look={['grey', IconPencil]}>{t('notPublished')}</Tone>
      ) : (
        <Tone look={['green', IconCircleCheck]}>{t('published', { version: published })}</Tone>
      )}{' '}
      {draft !== null && <Tone look={['amber', IconPencil]}>{t('draft', { version: draft })}</Tone>}
    </>
  )
}

function useColumns(): Column<TemplateOverview>[] {
  const { t } = useTranslation('templates')
  const format = useFormat()
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
          NONE
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
      cell: ({ figures }) => (figures ? format.number(figures.accepted) : NONE),
    },
    {
      key: 'failed',
      header: t('failed'),
      align: 'right',
      cell: ({ figures }) =>
        figures && figures.sent + figures.failed > 0
          ? format.percent(figures.failed / (figures.sent + figures.failed))
          : NONE,
    },
    {
      key: 'retries',
      header: t('retries'),
      align: 'right',
      cell: ({ figures }) => (figures ? format.number(figures.retries) : NONE),
    },
    { key: 'changed', header: t('changed'), cell: ({ updatedAt }) => <TimeText at={updatedAt} /> },
  ]
}
