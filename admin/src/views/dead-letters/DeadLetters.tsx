import { Button, SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useMay } from '../../api/session.ts'
import { BulkActions } from '../../components/bulk/BulkActions.tsx'
import { ExportMenu } from '../../components/ExportMenu.tsx'
import { CompanyFilter, FilterSelect, Filters } from '../../components/Filters.tsx'
import { Page } from '../../components/Page.tsx'
import { useSelection } from '../../components/table.tsx'
import { type DeadLetterSearch, RANGES } from '../../searches.ts'
import { ChangeDialog, type ChangeRequest } from './ChangeDialog.tsx'
import { DeadLetterDrawer } from './DeadLetterDrawer.tsx'
import { DeadLetterList, GroupTable } from './DeadLetterTables.tsx'
import { countQuery, type DeadLetterFilter, deadLetterFilter, groupsQuery } from './queries.ts'

export const Route = createLazyRoute('/signed-in/dead-letters')({ component: DeadLetters })

/** Groups first; then the list of one group, or of all. */
function DeadLetters() {
  const { t } = useTranslation('deadLetters')
  const search = Route.useSearch()
  const navigate = useNavigate()
  const show = (next: DeadLetterSearch) =>
    void navigate({ to: '/dead-letters', search: next, resetScroll: next.open === search.open })
  const [change, setChange] = useState<ChangeRequest | null>(null)
  const filter = deadLetterFilter(search)
  const showsList = search.list === true || search.code !== undefined
  const selection = useSelection(JSON.stringify([showsList, search.code, search.company, search.range]))
  const changeAll = (verb: ChangeRequest['verb']) => setChange({ verb, filter, onStarted: selection.clear })
  return (
    <Page
      title={t('title')}
      subtitle={t('subtitle')}
      actions={
        <>
          <ExportMenu
            path="/admin/dead-letters/export"
            filter={filter}
            label={t('export')}
            formats={{ csv: t('exportCsv'), jsonl: t('exportJsonl') }}
          />
          {showsList && <AllMatching filter={filter} onChange={changeAll} />}
        </>
      }
    >
      <BulkActions
        kinds={['replay-dead-letters', 'purge-dead-letters']}
        changes={['/admin/dead-letters', '/admin/overview']}
      />
      <FilterRow search={search} show={show} />
      {showsList ? (
        <DeadLetterList search={search} show={show} selection={selection} onChange={setChange} />
      ) : (
        <GroupTable search={search} show={show} onChange={setChange} />
      )}
      <DeadLetterDrawer search={search} show={show} onChange={setChange} />
      <ChangeDialog change={change} onClose={() => setChange(null)} />
    </Page>
  )
}

type ViewProps = { search: DeadLetterSearch; show: (search: DeadLetterSearch) => void }

function FilterRow({ search, show }: ViewProps) {
  const { t } = useTranslation(['deadLetters', 'common'])
  const { code, company, range, list } = search
  /** Back to the first page, with nothing open. */
  const change = (next: Partial<DeadLetterSearch>) => show({ list, code, company, range, ...next })
  const isFiltered = code !== undefined || company !== undefined || range !== undefined
  return (
    <Filters onClear={isFiltered ? () => show({ list }) : undefined}>
      <SegmentedControl
        size="sm"
        aria-label={t('deadLetters:show')}
        value={list || code !== undefined ? 'list' : 'groups'}
        data={[
          { value: 'groups', label: t('deadLetters:groups') },
          { value: 'list', label: t('deadLetters:list') },
        ]}
        onChange={chosen => change(chosen === 'list' ? { list: true } : { list: undefined, code: undefined })}
      />
      <CompanyFilter value={company} onChange={company => change({ company })} />
      <CodeFilter search={search} onChange={code => change({ code })} />
      <FilterSelect
        label={t('deadLetters:range')}
        any={t('deadLetters:anyTime')}
        value={range}
        options={RANGES.map(value => ({ value, label: t(`common:ranges.${value}`) }))}
        onChange={range => change({ range })}
      />
    </Filters>
  )
}

type AllMatchingProps = { filter: DeadLetterFilter; onChange: (verb: 'replay' | 'purge') => void }

function AllMatching({ filter, onChange }: AllMatchingProps) {
  const { t } = useTranslation('deadLetters')
  const { data } = useQuery(countQuery(filter))
  const none = data?.all === 0
  if (!useMay('support')) return null
  return (
    <>
      <Button size="sm" disabled={none} onClick={() => onChange('replay')}>
        {t('replayAll')}
      </Button>
      <Button size="sm" variant="default" disabled={none} onClick={() => onChange('purge')}>
        {t('purgeAll')}
      </Button>
    </>
  )
}

type CodeFilterProps = { search: DeadLetterSearch; onChange: (code: string | undefined) => void }

/** The codes that dead letters have now, and the one of the link. */
function CodeFilter({ search, onChange }: CodeFilterProps) {
  const { t } = useTranslation('deadLetters')
  const { data } = useQuery(groupsQuery(search))
  const current = data?.data.flatMap(({ code }) => code ?? []) ?? []
  const codes = [...new Set([...current, ...(search.code ? [search.code] : [])])].sort()
  return (
    <FilterSelect
      label={t('code')}
      any={t('anyCode')}
      value={search.code}
      options={codes.map(code => ({ value: code, label: code }))}
      onChange={onChange}
      searchable
      width={260}
    />
  )
}
