import { Box, Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { useMay } from '../../api/session.ts'
import { BreakableText } from '../../components/BreakableText.tsx'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { useFailureText } from '../../components/error-text.ts'
import { TextLink } from '../../components/links.tsx'
import { QueryState } from '../../components/QueryState.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import { useFormat } from '../../lib/format.ts'
import type { ChangeRequest } from './ChangeDialog.tsx'
import { type DeadLetterGroup, filterOf, groupsQuery } from './data.ts'
import { NoDeadLetters } from './NoDeadLetters.tsx'
import type { DeadLetterSearch } from './routes.ts'

type GroupTableProps = {
  search: DeadLetterSearch
  show: (search: DeadLetterSearch) => void
  onChange: (change: ChangeRequest) => void
}

export function GroupTable({ search, show, onChange }: GroupTableProps) {
  const { t } = useTranslation('deadLetters')
  const query = useQuery(groupsQuery(filterOf(search)))
  const columns = useColumns(search, onChange)
  const table = (rows: DeadLetterGroup[] | undefined) => (
    <DataTable
      label={t('groups')}
      columns={columns}
      rows={rows}
      rowKey={({ code, companyId }) => `${code} ${companyId}`}
      onOpen={group => show(searchOf(group, search))}
      empty={<NoDeadLetters search={search} />}
    />
  )
  return (
    <QueryState query={query} skeleton={table(undefined)}>
      {({ data }) => table(data)}
    </QueryState>
  )
}

const searchOf = ({ code, companyId }: DeadLetterGroup, { range }: DeadLetterSearch): DeadLetterSearch => ({
  ...(code === null ? { list: true } : { code }),
  company: companyId,
  ...(range && { range }),
})

function useColumns(search: DeadLetterSearch, onChange: GroupTableProps['onChange']): Column<DeadLetterGroup>[] {
  const { t } = useTranslation('deadLetters')
  const { number } = useFormat()
  const failureText = useFailureText()
  const mayChange = useMay('support')
  return [
    {
      key: 'code',
      header: t('code'),
      cell: group => (
        <Box miw={{ base: 0, md: '12rem' }}>
          <TextLink to="/dead-letters" search={searchOf(group, search)} size="sm" className="mono">
            {group.code === null ? t('noCode') : <BreakableText text={group.code} />}
          </TextLink>
        </Box>
      ),
    },
    { key: 'company', header: t('company'), name: true, cell: group => group.companyName },
    { key: 'entries', header: t('entries'), align: 'right', cell: group => number(group.entries) },
    {
      key: 'reason',
      header: t('lastReason'),
      wide: true,
      cell: group => (
        <Text size="sm" lineClamp={2} title={group.lastReason}>
          {failureText(group.code, group.lastReason)}
        </Text>
      ),
    },
    { key: 'first', header: t('firstSeen'), cell: group => <TimeText at={group.firstSeen} /> },
    { key: 'last', header: t('lastSeen'), cell: group => <TimeText at={group.lastSeen} /> },
    ...(mayChange
      ? [
          {
            key: 'actions',
            header: t('actions'),
            cell: (group: DeadLetterGroup) => <ReplayGroup group={group} search={search} onChange={onChange} />,
          },
        ]
      : []),
  ]
}

function ReplayGroup({ group, search, onChange }: Omit<GroupTableProps, 'show'> & { group: DeadLetterGroup }) {
  const { t } = useTranslation('deadLetters')
  const filter = filterOf(searchOf(group, search))
  return (
    <Button size="compact-sm" variant="default" onClick={() => onChange({ verb: 'replay', filter })}>
      {t('replay')}
    </Button>
  )
}
