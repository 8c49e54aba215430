import { Button, Menu, SegmentedControl } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useMay } from '../../api/session.ts'
import { BulkActions } from '../../components/bulk/BulkActions.tsx'
import { CompanyFilter } from '../../components/CompanyFilter.tsx'
import { FilterSelect, Filters } from '../../components/Filters.tsx'
import { Page } from '../../components/Page.tsx'
import { useSelection } from '../../components/SelectionBar.tsx'
import { RANGES } from '../overview/data.ts'
import { ChangeDialog, type ChangeRequest } from './ChangeDialog.tsx'
import { DeadLetterDrawer } from './DeadLetterDrawer.tsx'
import { DeadLetterList } from './DeadLetterList.tsx'
import { countQuery, type DeadLetterFilter, exportUrl, filterOf, groupsQuery } from './data.ts'
import { GroupTable } from './GroupTable.tsx'
import type { DeadLetterSearch } from './routes.ts'

export const Route = createLazyRoute('/signed-in/dead-letters')({ component: DeadLetters })

/** Groups first; then the list of one group, or of all. */
function DeadLetters() {
  const { t } = useTranslation('deadLetters')
  const search = Route.useSearch()
  const navigate = useNavigate()
  const show = (next: DeadLetterSearch) =>
    void navigate({ to: '/dead-letters', search: next, resetScroll: next.open === search.open })
  const [change, setChange] = useState<ChangeRequest | null>(null)
  const filter = filterOf(search)
  const showsList = search.list === true || search.code !== undefined
  const selection = useSelection(JSON.stringify([showsList, search.code, search.company, search.range]))
  const changeAll = (verb: ChangeRequest['verb']) => setChange({ verb, filter, onStarted: selection.clear })
  return (
    <Page
      title={t('title')}
      subtitle={t('subtitle')}
      actions={
        <>
          <Export search={search} />
          {showsList && <AllMatching filter={filter} onChange={changeAll} />}
        </>
      }
    >
      <BulkActions kinds={['replay-dead-letters', 'purge-dead-letters']} changes={['dead-letters', 'overview']} />
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

/** Addresses are in the file, so viewers cannot have it. */
function Export({ search }: { search: DeadLetterSearch }) {
  const { t } = useTranslation('deadLetters')
  if (!useMay('support')) return null
  const filter = filterOf(search)
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button size="sm" variant="default" leftSection={<IconDownload size={16} />}>
          {t('export')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component="a" href={exportUrl(filter, 'csv')} download>
          {t('exportCsv')}
        </Menu.Item>
        <Menu.Item component="a" href={exportUrl(filter, 'jsonl')} download>
          {t('exportJsonl')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

type CodeFilterProps = { search: DeadLetterSearch; onChange: (code: string | undefined) => void }

/** The codes that dead letters have now, and the one of the link. */
function CodeFilter({ search, onChange }: CodeFilterProps) {
  const { t } = useTranslation('deadLetters')
  const { data } = useQuery(groupsQuery(filterOf(search)))
  const found = data?.data.flatMap(({ code }) => code ?? []) ?? []
  const codes = [...new Set([...found, ...(search.code ? [search.code] : [])])].sort()
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
