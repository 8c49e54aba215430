import { Button, Menu, Text } from '@mantine/core'
import { IconChevronDown, IconDownload } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useMay } from '../../api/session.ts'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { Page } from '../../components/Page.tsx'
import { StaleBar } from '../../components/QueryState.tsx'
import { useReasonText } from '../../components/reason-text.ts'
import { TimeText } from '../../components/TimeText.tsx'
import { AuditDetails } from './AuditDetails.tsx'
import { AuditFilters } from './AuditFilters.tsx'
import classes from './AuditLog.module.css'
import { type AuditEntry, auditQuery, exportUrl, filterOf } from './data.ts'
import type { AuditSearch } from './routes.ts'
import { Subject } from './Subject.tsx'
import { useAuditWords } from './words.ts'

export const Route = createLazyRoute('/signed-in/audit')({ component: AuditLog })

function AuditLog() {
  const { t } = useTranslation('audit')
  const search = Route.useSearch()
  const navigate = Route.useNavigate()
  const query = useQuery(auditQuery(search))
  const columns = useColumns()
  /** Another filter begins at the newest page again. */
  const filter = (change: AuditSearch) =>
    void navigate({ search: ({ olderThan: _, newerThan: _newer, open: _open, ...now }) => ({ ...now, ...change }) })
  const page = (cursor: AuditSearch) =>
    void navigate({ search: ({ olderThan: _, newerThan: _newer, open: _open, ...now }) => ({ ...now, ...cursor }) })
  const show = (open: string | undefined) =>
    void navigate({ search: ({ open: _, ...now }) => ({ ...now, ...(open && { open }) }), resetScroll: false })
  const { data, older, newer } = query.data ?? {}
  const isFiltered = Object.keys(filterOf(search)).length > 0
  return (
    <Page title={t('title')} subtitle={t('subtitle')} actions={<Export search={search} />}>
      <AuditFilters search={search} onChange={filter} onClear={() => void navigate({ search: {} })} />
      {query.error && !query.data ? (
        <ErrorState error={query.error} reset={() => void query.refetch()} />
      ) : (
        <>
          <StaleBar query={query} />
          <DataTable
            label={t('title')}
            columns={columns}
            rows={data}
            rowKey={entry => entry.id}
            onOpen={entry => show(entry.id)}
            empty={<EmptyState title={t('empty')} hint={isFiltered ? t('emptyFiltered') : t('emptyHint')} />}
            pages={{
              onPrevious: newer ? () => page({ newerThan: newer }) : undefined,
              onNext: older ? () => page({ olderThan: older }) : undefined,
            }}
          />
        </>
      )}
      <AuditDetails
        id={search.open}
        listed={query.isPending ? undefined : (data ?? [])}
        onClose={() => show(undefined)}
      />
    </Page>
  )
}

function useColumns(): Column<AuditEntry>[] {
  const { t } = useTranslation('audit')
  const words = useAuditWords()
  const reasonText = useReasonText()
  return [
    {
      key: 'at',
      header: t('when'),
      cell: entry => (
        <Short>
          <TimeText at={entry.performedAt} />
        </Short>
      ),
    },
    {
      key: 'who',
      header: t('who'),
      cell: entry => <Cut text={words.who(entry.performedBy)} hint={entry.performedBy} />,
    },
    { key: 'action', header: t('action'), name: true, cell: entry => words.action(entry.action) },
    {
      key: 'subject',
      header: t('subject'),
      cell: entry => (
        <div className={classes.subject}>
          <Subject entry={entry} />
        </div>
      ),
    },
    {
      key: 'company',
      header: t('company'),
      cell: entry => entry.companyName && <Cut text={entry.companyName} narrow />,
    },
    {
      key: 'reason',
      header: t('reason'),
      wide: true,
      cell: entry =>
        entry.reason && (
          <Text inherit lineClamp={2} title={reasonText(entry.reason)}>
            {reasonText(entry.reason)}
          </Text>
        ),
    },
  ]
}

function Short({ children }: { children: ReactNode }) {
  return <span className={classes.short}>{children}</span>
}

/** The whole text is in the details, too. */
function Cut({ text, hint = text, narrow }: { text: string; hint?: string; narrow?: boolean }) {
  return (
    <span className={classes.cut} data-narrow={narrow} title={hint}>
      {text}
    </span>
  )
}

/** Files cannot be masked, so viewers do not get them. */
function Export({ search }: { search: AuditSearch }) {
  const { t } = useTranslation('audit')
  if (!useMay('support')) return null
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button
          variant="default"
          leftSection={<IconDownload size={16} />}
          rightSection={<IconChevronDown size={14} aria-hidden />}
        >
          {t('export')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component="a" href={exportUrl(search, 'csv')} download>
          {t('exportCsv')}
        </Menu.Item>
        <Menu.Item component="a" href={exportUrl(search, 'jsonl')} download>
          {t('exportJsonl')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
