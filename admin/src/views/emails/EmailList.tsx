import { Button } from '@mantine/core'
import { IconArrowUp } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { DataTable } from '../../components/DataTable.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { Page } from '../../components/Page.tsx'
import { StaleBar } from '../../components/QueryState.tsx'
import { useFormat } from '../../lib/format.ts'
import { useLive } from '../../lib/live.ts'
import { EmailFilters } from './EmailFilters.tsx'
import { useColumns } from './email-columns.tsx'
import classes from './emails.module.css'
import { type ChangedEmail, type EmailPage, type EmailRow, emailsQuery } from './queries.ts'
import { SearchBox } from './SearchBox.tsx'
import { SuppressionNotice } from './SuppressionNotice.tsx'
import { type EmailSearch, hasFilters, lookupOf } from './search-params.ts'

export const Route = createLazyRoute('/signed-in/emails')({ component: EmailList })

const CURL = `curl -X POST ${location.origin}/v1/email/send -H "X-API-Key: $API_KEY" -H "Content-Type: application/json" \\
  -d '{"to":"maria@example.com","subject":"Hello","text":"It works."}'`

/** Where is this e-mail? */
function EmailList() {
  const { t } = useTranslation('emails')
  const search = Route.useSearch() as EmailSearch
  const navigate = useNavigate()
  const query = useQuery(emailsQuery(search))
  const page = query.data
  const live = useLiveRows(search, page)
  const columns = useColumns()
  const show = (next: EmailSearch) => void navigate({ to: '/emails', search: next })
  return (
    <Page title={t('title')}>
      <SearchBox search={search} onSearch={show} />
      <EmailFilters search={search} onChange={show} />
      {page?.suppression && page.lookup && <SuppressionNotice entries={page.suppression} emails={page.data.length} />}
      {query.error && !page ? (
        <ErrorState error={query.error} reset={() => void query.refetch()} />
      ) : (
        <>
          <StaleBar query={query} />
          <NewRows count={live.newer.size} onShow={() => void query.refetch()} />
          <DataTable<EmailRow>
            label={t('title')}
            columns={columns}
            rows={page?.data.map(row => ({ ...row, status: live.statuses.get(row.outboxId) ?? row.status }))}
            rowKey={row => row.outboxId}
            onOpen={({ outboxId }) => void navigate({ to: '/emails/$outboxId', params: { outboxId } })}
            empty={<NoEmails search={search} page={page} />}
            pages={{
              onPrevious: cursorStep(search, 'newerThan', page?.newer, show),
              onNext: cursorStep(search, 'olderThan', page?.older, show),
              summary: page && <Searched page={page} />,
            }}
          />
        </>
      )}
    </Page>
  )
}

function cursorStep(
  { olderThan: _, newerThan: __, ...filters }: EmailSearch,
  name: 'olderThan' | 'newerThan',
  cursor: string | null | undefined,
  show: (next: EmailSearch) => void,
) {
  return cursor ? () => show({ ...filters, [name]: cursor }) : undefined
}

/** What happens after the page was read: a changed status is shown in its row, newer e-mails are counted and not put in. */
function useLiveRows(search: EmailSearch, page: EmailPage | undefined) {
  const emails = useLive()?.emails
  const read = { page, emails, newer: new Set<string>(), statuses: new Map<string, EmailRow['status']>() }
  const [state, setState] = useState(read)
  if (state.page !== page) setState(read)
  else if (emails && state.emails !== emails)
    setState(({ newer, statuses }) => ({
      page,
      emails,
      newer: new Set([...newer, ...emails.filter(one => isNewer(one, search, page)).map(one => one.outboxId)]),
      statuses: new Map([...statuses, ...emails.map(one => [one.outboxId, one.status] as const)]),
    }))
  return state
}

/** Whether it would be on the first page by now, as far as can be told: its tags, template and mode are not known. Ids grow with time. */
function isNewer({ outboxId, companyId, status }: ChangedEmail, search: EmailSearch, page: EmailPage | undefined) {
  if (!page || lookupOf(search) || search.olderThan || search.newerThan) return false
  if (search.tag || search.template || search.mode || outboxId <= (page.data[0]?.outboxId ?? '')) return false
  return (!search.company || search.company === companyId) && (!search.status || search.status === status)
}

function NewRows({ count, onShow }: { count: number; onShow: () => void }) {
  const { t } = useTranslation()
  return (
    <div aria-live="polite" className={classes.newRows}>
      {count > 0 && (
        <Button size="compact-sm" variant="light" onClick={onShow} rightSection={<IconArrowUp size={14} aria-hidden />}>
          {t('table.newRows', { count })}
        </Button>
      )}
    </div>
  )
}

/** Which time was searched, and where the search stopped. */
function Searched({ page }: { page: EmailPage }) {
  const { t } = useTranslation('emails')
  const format = useFormat()
  if (!page.range) return t('searchedAll')
  const from = format.dateTime(page.searchedTo ?? page.range.from)
  return t(page.searchedTo ? 'searchedTo' : 'searched', { from, to: format.dateTime(page.range.to) })
}

function NoEmails({ search, page }: { search: EmailSearch; page: EmailPage | undefined }) {
  const { t } = useTranslation('emails')
  const navigate = useNavigate()
  const format = useFormat()
  if (page?.searchedTo && page.older)
    return (
      <EmptyState title={t('noneYet')} hint={t('noneYetHint', { time: format.dateTime(page.searchedTo) })}>
        <Button
          variant="default"
          onClick={() => void navigate({ to: '/emails', search: { ...search, olderThan: page.older! } })}
        >
          {t('searchFurther')}
        </Button>
      </EmptyState>
    )
  if (lookupOf(search)) return <EmptyState title={t('notFound')} hint={t('notFoundHint')} />
  if (hasFilters(search) || search.olderThan) return <EmptyState title={t('noneMatch')} hint={t('noneMatchHint')} />
  return <EmptyState title={t('empty')} hint={t('emptyHint')} command={CURL} />
}
