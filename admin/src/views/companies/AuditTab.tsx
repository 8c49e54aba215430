import { Code } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate, useRouter } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import type { Schemas } from '../../api/client.ts'
import { type Company, companyAuditQuery } from '../../api/company.ts'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { StaleBar } from '../../components/QueryState.tsx'
import { useReasonText } from '../../components/reason-text.ts'
import { TimeText } from '../../components/TimeText.tsx'
import { useAuditWords } from '../audit/words.ts'
import classes from './AuditTab.module.css'

type Entry = Schemas['CompanyAudit']
const route = getRouteApi('/signed-in/companies/$companyId/$tab')

export function AuditTab({ company: { companyId } }: { company: Company }) {
  const { t } = useTranslation('companies')
  const { cursor } = route.useSearch()
  const navigate = useNavigate()
  const { history } = useRouter()
  const query = useQuery(companyAuditQuery(companyId, cursor))
  const next = query.data?.cursor ?? null
  return (
    <>
      <StaleBar query={query} />
      <DataTable
        label={t('tabs.audit')}
        columns={useColumns()}
        rows={query.data?.data}
        rowKey={entry => String(entry.id)}
        empty={<EmptyState title={t('audit.empty')} hint={t('audit.emptyHint')} />}
        pages={{
          onPrevious: cursor === undefined ? undefined : () => history.back(),
          onNext:
            next === null
              ? undefined
              : () =>
                  void navigate({
                    to: '/companies/$companyId/$tab',
                    params: { companyId, tab: 'audit' },
                    search: { cursor: next },
                  }),
        }}
      />
    </>
  )
}

function useColumns(): Column<Entry>[] {
  const { t } = useTranslation('companies')
  const words = useAuditWords()
  const reasonText = useReasonText()
  return [
    { key: 'when', header: t('audit.when'), cell: ({ performedAt }) => <TimeText at={performedAt} /> },
    { key: 'who', header: t('audit.who'), name: true, cell: ({ performedBy }) => performedBy },
    { key: 'action', header: t('audit.action'), name: true, cell: ({ action }) => words.action(action) },
    {
      key: 'reason',
      header: t('audit.reason'),
      cell: ({ reason }) => (
        <div className={classes.text}>{reason ? reasonText(reason) : <span className="quiet">–</span>}</div>
      ),
    },
    { key: 'change', header: t('audit.change'), wide: true, cell: entry => <Change entry={entry} /> },
  ]
}

/** Each field as it was and as it is. */
function Change({ entry: { before, after, subjectType } }: { entry: Entry }) {
  const words = useAuditWords()
  const all = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const names = all.filter(name => JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name]))
  if (names.length === 0) return <span className="quiet">–</span>
  return names.map(name => (
    <div key={name}>
      <span className="quiet">{words.field(name, subjectType)}:</span>{' '}
      {before && name in before && <Code>{words.value(before[name], name)}</Code>}
      {before && after && name in before && name in after && ' → '}
      {after && name in after && <Code>{words.value(after[name], name)}</Code>}
    </div>
  ))
}
