import { SegmentedControl, Skeleton, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconChevronDown } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, type LinkProps } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, read, take } from '../../api/client.ts'
import { DetailsDrawer } from '../../components/dialogs.tsx'
import { ExportMenu } from '../../components/ExportMenu.tsx'
import { useErrorText } from '../../components/error-text.ts'
import { CompanyFilter, FilterSelect, Filters } from '../../components/Filters.tsx'
import { Page } from '../../components/Page.tsx'
import { useReasonText } from '../../components/reason-text.ts'
import { EmptyState, QueryState } from '../../components/states.tsx'
import { type Column, DataTable } from '../../components/table.tsx'
import { IdText, TextLink, TimeText } from '../../components/values.tsx'
import type { AuditSearch } from '../../searches.ts'
import classes from './AuditLog.module.css'
import { differenceOf, type FieldDifference } from './difference.ts'
import { type AuditEntry, auditFilter, auditQuery, isPeopleOnly } from './query.ts'
import { useAuditWords } from './words.ts'

export const Route = createLazyRoute('/signed-in/audit')({ component: AuditLog })

function AuditLog() {
  const { t } = useTranslation('audit')
  const search = Route.useSearch()
  const navigate = Route.useNavigate()
  const query = useQuery(auditQuery(search))
  const columns = useColumns()
  const { olderThan: _, newerThan: __, open, ...filters } = search
  /** Another filter begins at the newest page again. */
  const change = (next: AuditSearch) => void navigate({ search: { ...filters, ...next } })
  const show = (entry: string | undefined) => void navigate({ search: { ...search, open: entry }, resetScroll: false })
  const { data, older, newer } = query.data ?? {}
  const isFiltered = Object.keys(filters).some(name => name !== 'actor')
  return (
    <Page
      title={t('title')}
      subtitle={t('subtitle')}
      actions={
        <ExportMenu
          path="/admin/audit/export"
          filter={auditFilter(search)}
          label={t('export')}
          formats={{ csv: t('exportCsv'), jsonl: t('exportJsonl') }}
          rightSection={<IconChevronDown size={14} aria-hidden />}
        />
      }
    >
      <AuditFilters
        search={search}
        onChange={change}
        onClear={isFiltered ? () => void navigate({ search: {} }) : undefined}
      />
      <DataTable
        label={t('title')}
        columns={columns}
        query={query}
        rowKey={entry => entry.id}
        onOpen={entry => show(entry.id)}
        empty={<EmptyState title={t('empty')} hint={isFiltered ? t('emptyFiltered') : t('emptyHint')} />}
        pages={{
          onPrevious: newer ? () => change({ newerThan: newer }) : undefined,
          onNext: older ? () => change({ olderThan: older }) : undefined,
        }}
      />
      <AuditDetails id={open} listed={query.isPending ? undefined : (data ?? [])} onClose={() => show(undefined)} />
    </Page>
  )
}

const TYPING_MS = 400

type AuditFiltersProps = { search: AuditSearch; onChange: (change: AuditSearch) => void; onClear?: () => void }

function AuditFilters({ search, onChange, onClear }: AuditFiltersProps) {
  const { t } = useTranslation('audit')
  const words = useAuditWords()
  // Days are written so that they sort.
  const isReversed = search.from !== undefined && search.to !== undefined && search.from > search.to
  return (
    <Filters onClear={onClear}>
      <SegmentedControl
        size="sm"
        aria-label={t('actor')}
        value={isPeopleOnly(search) ? 'people' : 'any'}
        data={(['people', 'any'] as const).map(value => ({ value, label: t(`actors.${value}`) }))}
        onChange={value => onChange(value === 'any' ? { actor: 'any' } : { actor: undefined, performedBy: undefined })}
      />
      <TypedFilter
        label={t('whoFilter')}
        value={search.performedBy}
        onChange={performedBy => onChange({ performedBy })}
      />
      <FilterSelect
        label={t('action')}
        value={search.action}
        options={optionsOf(words.actions)}
        onChange={action => onChange({ action })}
        width={220}
      />
      <FilterSelect
        label={t('subject')}
        value={search.subjectType}
        options={optionsOf(words.subjects)}
        onChange={subjectType => onChange({ subjectType })}
      />
      <TypedFilter
        label={t('subjectId')}
        value={search.subjectId}
        onChange={subjectId => onChange({ subjectId })}
        toValue={subjectIdOf}
      />
      <CompanyFilter value={search.company} onChange={company => onChange({ company })} />
      <DayFilter
        label={t('from')}
        value={search.from}
        onChange={from => onChange({ from })}
        error={isReversed && t('reversed')}
      />
      <DayFilter label={t('to')} value={search.to} onChange={to => onChange({ to })} />
    </Filters>
  )
}

const optionsOf = (words: Record<string, string>) =>
  Object.entries(words)
    .map(([value, label]) => ({ value, label }))
    .sort((a, b) => a.label.localeCompare(b.label))

type FieldFilterProps = { label: string; value: string | undefined; onChange: (value: string | undefined) => void }

/** Of an address the URL has the hash, so that a link tells no address; the gateway knows it. */
async function subjectIdOf(text: string): Promise<string> {
  if (!text.includes('@')) return text
  return (await take(api.POST('/admin/suppression/look-up', { body: { email: text } }))).emailHash
}

type TypedFilterProps = FieldFilterProps & { toValue?: (text: string) => Promise<string> }

/** Asked for when the typing pauses. The key lets a cleared filter empty the field. */
function TypedFilter({ label, value, onChange, toValue = async text => text }: TypedFilterProps) {
  const errorText = useErrorText()
  const [error, setError] = useState<string | null>(null)
  const apply = useDebouncedCallback(async (text: string) => {
    setError(null)
    try {
      onChange(text.trim() ? await toValue(text.trim()) : undefined)
    } catch (refusal) {
      setError(errorText(refusal))
    }
  }, TYPING_MS)
  return (
    <TextInput
      key={value === undefined ? 'empty' : 'filled'}
      size="sm"
      w={180}
      aria-label={label}
      placeholder={label}
      defaultValue={value ?? ''}
      error={error}
      onChange={event => apply(event.currentTarget.value)}
      maxLength={200}
    />
  )
}

function DayFilter({ label, value, onChange, error = false }: FieldFilterProps & { error?: string | false }) {
  return (
    <TextInput
      size="sm"
      type="date"
      label={label}
      error={error}
      value={value ?? ''}
      onChange={event => onChange(event.currentTarget.value || undefined)}
    />
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
        <span className="nowrap">
          <TimeText at={entry.performedAt} />
        </span>
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

/** The whole text is in the details, too. */
function Cut({ text, hint = text, narrow }: { text: string; hint?: string; narrow?: boolean }) {
  return (
    <span className={classes.cut} data-narrow={narrow} title={hint}>
      {text}
    </span>
  )
}

/** What was changed, with a link where it has a view of its own. */
function Subject({ entry, whole = false }: { entry: AuditEntry; whole?: boolean }) {
  const words = useAuditWords()
  const { subjectType, subjectId, action } = entry
  const word = words.subject(subjectType)
  const link = GONE.includes(action) ? undefined : LINKS[subjectType]?.(subjectId)
  return (
    <span>
      {link ? (
        <TextLink {...link} size="sm">
          {word}
        </TextLink>
      ) : (
        word
      )}{' '}
      <IdText id={subjectId} whole={whole} />
    </span>
  )
}

/** After these there is nothing to open. */
const GONE = ['TEMPLATE_DELETED', 'WEBHOOK_REMOVED']

const LINKS: Record<string, (id: string) => LinkProps> = {
  suppression: id => ({ to: '/suppression', search: { open: id } }),
  template: id => ({ to: '/templates/$templateId', params: { templateId: id } }),
  webhook: id => ({ to: '/webhooks/$webhookId', params: { webhookId: id } }),
  email: id => ({ to: '/emails/$outboxId', params: { outboxId: id } }),
  company: id => ({ to: '/companies/$companyId', params: { companyId: id } }),
}

type AuditDetailsProps = {
  /** Undefined: nothing is open. */
  id: string | undefined
  /** The entries of the page; undefined while they are loading. */
  listed: AuditEntry[] | undefined
  onClose: () => void
}

/** One entry: who, when, why, and what it was before and after. One that is not on the page is read by its id. */
function AuditDetails({ id, listed, onClose }: AuditDetailsProps) {
  const { t } = useTranslation('audit')
  const words = useAuditWords()
  const onPage = listed?.find(entry => entry.id === id)
  const query = useQuery({
    ...read('/admin/audit', { query: { id } }),
    enabled: id !== undefined && listed !== undefined && !onPage,
  })
  const entry = onPage ?? (id === undefined ? undefined : query.data?.data[0])
  const title = entry ? `${words.action(entry.action)} · ${words.subject(entry.subjectType)}` : t('entry')
  return (
    <DetailsDrawer opened={id !== undefined} onClose={onClose} title={title}>
      {entry && <Facts entry={entry} />}
      {id !== undefined && !entry && (
        <QueryState query={query} skeleton={<Skeleton height={240} />}>
          {() => <EmptyState title={t('entryNone')} hint={t('entryNoneHint')} />}
        </QueryState>
      )}
    </DetailsDrawer>
  )
}

function Facts({ entry }: { entry: AuditEntry }) {
  const { t } = useTranslation('audit')
  const words = useAuditWords()
  const reasonText = useReasonText()
  const lines = differenceOf(entry.before, entry.after, words.value)
  return (
    <Stack gap="md">
      <dl className={classes.facts}>
        <dt className="quiet">{t('when')}</dt>
        <dd>
          <TimeText at={entry.performedAt} exact />
        </dd>
        <dt className="quiet">{t('who')}</dt>
        <dd title={entry.performedBy}>{words.who(entry.performedBy)}</dd>
        <dt className="quiet">{t('action')}</dt>
        <dd title={entry.action}>{words.action(entry.action)}</dd>
        <dt className="quiet">{t('subject')}</dt>
        <dd>
          <Subject entry={entry} whole />
        </dd>
        <dt className="quiet">{t('company')}</dt>
        <dd>{entry.companyName ?? entry.companyId ?? '–'}</dd>
        <dt className="quiet">{t('reason')}</dt>
        <dd>{entry.reason ? reasonText(entry.reason) : '–'}</dd>
      </dl>
      {lines.length > 0 ? <Difference entry={entry} lines={lines} /> : <Text size="sm">{t('nothingMore')}</Text>}
    </Stack>
  )
}

/** Without a side before, the other one is no change but what the entry says. */
function Difference({ entry, lines }: { entry: AuditEntry; lines: FieldDifference[] }) {
  const { t } = useTranslation('audit')
  const words = useAuditWords()
  const both = entry.before !== null && entry.after !== null
  return (
    <table className={classes.difference}>
      <thead>
        <tr>
          <th scope="col">{t('field')}</th>
          {entry.before && <th scope="col">{t('before')}</th>}
          {entry.after && <th scope="col">{both ? t('after') : t('value')}</th>}
        </tr>
      </thead>
      <tbody>
        {lines.map(line => (
          <tr key={line.field}>
            <th scope="row" title={line.field}>
              {words.field(line.field, entry.subjectType)}
            </th>
            {entry.before && (
              <td className={both && line.changed ? classes.before : undefined}>
                {both && line.changed ? <del>{line.before}</del> : line.before}
              </td>
            )}
            {entry.after && (
              <td className={both && line.changed ? classes.after : undefined}>
                {both && line.changed ? <ins>{line.after}</ins> : <Value field={line.field} text={line.after} />}
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The e-mail that another one was sent again as is one click away. */
function Value({ field, text }: { field: string; text: string | null }) {
  if (text === null || field !== 'resentAs' || !UUID.test(text)) return text
  return (
    <TextLink to="/emails/$outboxId" params={{ outboxId: text }} size="sm">
      {text}
    </TextLink>
  )
}
