import { Code, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { read, type Schemas } from '../../api/client.ts'
import type { Company } from '../../api/companies.ts'
import { useReasonText } from '../../components/reason-text.ts'
import { EmptyState } from '../../components/states.tsx'
import { type Column, cursorPages, DataTable } from '../../components/table.tsx'
import { NONE, TextLink, TimeText } from '../../components/values.tsx'
import { useAuditWords } from '../audit/words.ts'
import classes from './AuditTab.module.css'

type Entry = Schemas['CompanyAudit']
const route = getRouteApi('/signed-in/companies/$companyId/$tab')

export function AuditTab({ company: { companyId } }: { company: Company }) {
  const { t } = useTranslation('companies')
  const { cursors } = route.useSearch()
  const cursor = cursors && Number(cursors.at(-1))
  const navigate = useNavigate()
  const query = useQuery(
    read('/admin/companies/{companyId}/audit', { path: { companyId }, query: { limit: 50, cursor } }),
  )
  const next = query.data?.cursor
  const show = (pages: string[] | undefined) =>
    void navigate({
      to: '/companies/$companyId/$tab',
      params: { companyId, tab: 'audit' },
      search: { cursors: pages },
    })
  return (
    <DataTable
      label={t('tabs.audit')}
      columns={useColumns(companyId)}
      query={query}
      rowKey={entry => String(entry.id)}
      onOpen={({ id }) => void navigate({ to: '/audit', search: openIn(companyId, id) })}
      empty={<EmptyState title={t('audit.empty')} hint={t('audit.emptyHint')} />}
      pages={cursorPages(cursors, next ? String(next) : null, show)}
    />
  )
}

/** The whole entry, in the audit log: the rows here are those of its first table. */
const openIn = (company: string, id: number) => ({ company, actor: 'any', open: `a${id}` })

function useColumns(companyId: string): Column<Entry>[] {
  const { t } = useTranslation('companies')
  const words = useAuditWords()
  const reasonText = useReasonText()
  return [
    { key: 'when', header: t('audit.when'), cell: ({ performedAt }) => <TimeText at={performedAt} /> },
    {
      key: 'who',
      header: t('audit.who'),
      name: true,
      cell: ({ performedBy }) => <span title={performedBy}>{words.who(performedBy)}</span>,
    },
    {
      key: 'action',
      header: t('audit.action'),
      name: true,
      cell: ({ id, action }) => (
        <TextLink inherit to="/audit" search={openIn(companyId, id)}>
          {words.action(action)}
        </TextLink>
      ),
    },
    {
      key: 'reason',
      header: t('audit.reason'),
      cell: ({ reason }) => (
        <div className={classes.text}>
          {reason ? (
            <Text inherit lineClamp={3} title={reasonText(reason)}>
              {reasonText(reason)}
            </Text>
          ) : (
            NONE
          )}
        </div>
      ),
    },
    { key: 'change', header: t('audit.change'), wide: true, cell: entry => <Change entry={entry} /> },
  ]
}

/** Each field as it was and as it is; the whole of it is in the entry. */
function Change({ entry: { before, after, subjectType } }: { entry: Entry }) {
  const words = useAuditWords()
  const all = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const names = all.filter(name => JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name]))
  if (names.length === 0) return NONE
  return names.map(name => {
    const texts = [before, after].flatMap(side => (side && name in side ? [words.value(side[name], name)] : []))
    return (
      <Text key={name} inherit component="div" lineClamp={3} title={texts.join(' → ')}>
        <span className="quiet">{words.field(name, subjectType)}:</span>{' '}
        {texts.map((text, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the value before and the one after
          <span key={index}>
            {index > 0 && ' → '}
            <Code>{text}</Code>
          </span>
        ))}
      </Text>
    )
  })
}
