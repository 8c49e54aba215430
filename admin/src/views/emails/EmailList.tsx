import { Alert, Button, Group, TextInput } from '@mantine/core'
import { IconArrowUp, IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Schemas } from '../../api/client.ts'
import { useCompanyOptions } from '../../api/companies.ts'
import { useErrorText } from '../../components/error-text.ts'
import { FilterSelect, Filters } from '../../components/Filters.tsx'
import { Page } from '../../components/Page.tsx'
import { EmptyState } from '../../components/states.tsx'
import { DataTable } from '../../components/table.tsx'
import { useFormat } from '../../lib/format.ts'
import { useLive } from '../../lib/live.ts'
import { EMAIL_STATUSES, type EmailSearch, LONG_RANGES, LOOKUPS } from '../../searches.ts'
import { useColumns } from './EmailRow.tsx'
import classes from './emails.module.css'
import { DEFAULT_RANGE, type EmailPage, type EmailRow, emailsQuery, lookupOf, searchEmails } from './queries.ts'
import { SuppressionNotice } from './SuppressionNotice.tsx'

export const Route = createLazyRoute('/signed-in/emails')({ component: EmailList })

const CURL = `curl -X POST ${location.origin}/v1/email/send -H "X-API-Key: $API_KEY" -H "Content-Type: application/json" \\
  -d '{"to":"maria@example.com","subject":"Hello","text":"It works."}'`

/** Where is this e-mail? */
function EmailList() {
  const { t } = useTranslation('emails')
  const search = Route.useSearch()
  const navigate = useNavigate()
  const query = useQuery(emailsQuery(search))
  const page = query.data
  const live = useLiveRows(search, page)
  const show = (next: EmailSearch) => void navigate({ to: '/emails', search: next })
  return (
    <Page title={t('title')}>
      <SearchBox search={search} onSearch={show} />
      <EmailFilters search={search} onChange={show} />
      {page?.suppression && page.lookup && <SuppressionNotice entries={page.suppression} emails={page.data.length} />}
      <NewRows count={live.newer.size} onShow={() => void query.refetch()} />
      <DataTable<EmailRow>
        label={t('title')}
        columns={useColumns()}
        query={query}
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
      newer: new Set([
        ...newer,
        ...emails.filter(email => isNewer(email, search, page)).map(({ outboxId }) => outboxId),
      ]),
      statuses: new Map([...statuses, ...emails.map(({ outboxId, status }) => [outboxId, status] as const)]),
    }))
  return state
}

type LiveEmail = Schemas['LiveFigures']['emails'][number]

/** Whether it would be on the first page by now, as far as can be told: its tags, template and mode are not known. Ids grow with time. */
function isNewer({ outboxId, companyId, status }: LiveEmail, search: EmailSearch, page: EmailPage | undefined) {
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

const hasFilters = ({ olderThan: _, newerThan: __, range: ___, ...filters }: EmailSearch) =>
  Object.keys(filters).length > 0

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

type EmailFiltersProps = { search: EmailSearch; onChange: (next: EmailSearch) => void }

function EmailFilters({ search, onChange }: EmailFiltersProps) {
  const { t } = useTranslation('emails')
  const { t: common } = useTranslation()
  const { olderThan: _, newerThan: __, ...filters } = search
  // Another filter begins with the first page.
  const set = (change: EmailSearch) => onChange({ ...filters, ...change })
  return (
    <Filters oneLine onClear={hasFilters(search) ? () => onChange({}) : undefined}>
      <FilterSelect
        label={t('columns.status')}
        value={search.status}
        options={EMAIL_STATUSES.map(value => ({ value, label: common(`status.${value}`) }))}
        onChange={status => set({ status })}
        any={t('columns.status')}
        width={192}
      />
      <FilterSelect
        label={t('columns.company')}
        value={search.company}
        options={useCompanyOptions()}
        onChange={company => set({ company })}
        any={common('filters.allCompanies')}
        searchable
        width={160}
      />
      <TextFilter label={t('tag')} value={search.tag} onChange={tag => set({ tag })} />
      <TextFilter label={t('template')} value={search.template} onChange={template => set({ template })} />
      <FilterSelect
        label={t('mode')}
        value={search.mode}
        options={(['live', 'test'] as const).map(value => ({ value, label: t(`modes.${value}`) }))}
        onChange={mode => set({ mode })}
        any={t('mode')}
        width={136}
      />
      {!lookupOf(search) && (
        <FilterSelect
          label={t('range')}
          value={search.range ?? DEFAULT_RANGE}
          options={LONG_RANGES.map(value => ({ value, label: common(`ranges.${value}`) }))}
          onChange={range => set({ range })}
          required
          width={172}
        />
      )}
    </Filters>
  )
}

/** Applied with Enter, or when it is left. */
function TextFilter(props: {
  label: string
  value: string | undefined
  onChange: (value: string | undefined) => void
}) {
  const { label, value = '', onChange } = props
  const [text, setText] = useState(value)
  const [shown, setShown] = useState(value)
  if (shown !== value) {
    setShown(value)
    setText(value)
  }
  const apply = () => text.trim() !== value && onChange(text.trim() || undefined)
  return (
    <TextInput
      size="sm"
      w={92}
      aria-label={label}
      placeholder={label}
      title={text}
      value={text}
      maxLength={100}
      onChange={event => setText(event.currentTarget.value)}
      onBlur={apply}
      onKeyDown={event => event.key === 'Enter' && apply()}
    />
  )
}

/** Recognises what was typed. The URL then holds what was looked up: of an address its hash, so that a link tells no address. */
function SearchBox({ search, onSearch }: { search: EmailSearch; onSearch: (next: EmailSearch) => void }) {
  const { t } = useTranslation('emails')
  const errorText = useErrorText()
  const navigate = useNavigate()
  const by = lookupOf(search)
  const fromUrl = by && by !== 'recipient' ? search[by]! : ''
  const [text, setText] = useState(fromUrl)
  // A link, or Back, leads to another search: the box follows. What is typed stays until then.
  const place = by ? `${by} ${search[by]}` : ''
  const [shown, setShown] = useState(place)
  if (shown !== place) {
    setShown(place)
    // Of an address the URL has the hash only: what was typed for it stays.
    setText(before => (by === 'recipient' && before.includes('@') ? before : fromUrl))
  }
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (text.trim() === '') return onSearch(withoutLookup(search))
    setBusy(true)
    setError(null)
    try {
      const { lookup, data } = await searchEmails(text)
      const [only] = data
      if (lookup!.by === 'id' && only) await navigate({ to: '/emails/$outboxId', params: { outboxId: only.outboxId } })
      else onSearch({ [lookup!.by]: lookup!.value })
    } catch (refusal) {
      setError(refusal)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form onSubmit={submit}>
      <Group gap="xs" wrap="nowrap">
        <TextInput
          className={classes.search}
          aria-label={t('search')}
          placeholder={t('searchHint')}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={text}
          onChange={event => setText(event.currentTarget.value)}
          maxLength={998}
          spellCheck={false}
          autoComplete="off"
        />
        <Button type="submit" loading={busy}>
          {t('searchButton')}
        </Button>
      </Group>
      {error !== null && (
        <Alert color="red" variant="light" role="alert" mt="xs" py="xs">
          {errorText(error)}
        </Alert>
      )}
      {by && (
        <Group gap={6} mt="xs" fz="sm">
          <span className="quiet">{t(`lookups.${by}`)}</span>
          <span className="mono">{short(search[by]!)}</span>
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => {
              setText('')
              onSearch(withoutLookup(search))
            }}
          >
            {t('clearSearch')}
          </Button>
        </Group>
      )}
    </form>
  )
}

const short = (value: string) => (value.length > 44 ? `${value.slice(0, 20)}…` : value)

function withoutLookup(search: EmailSearch): EmailSearch {
  const rest = { ...search }
  for (const name of [...LOOKUPS, 'olderThan', 'newerThan'] as const) delete rest[name]
  return rest
}
