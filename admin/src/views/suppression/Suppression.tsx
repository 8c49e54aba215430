import {
  Alert,
  Button,
  FileInput,
  Grid,
  Group,
  NumberInput,
  Progress,
  SegmentedControl,
  Select,
  Skeleton,
  Stack,
  Text,
  TextInput,
} from '@mantine/core'
import { IconPlus, IconSearch, IconUpload } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, read, type Schemas, take } from '../../api/client.ts'
import { useCompanyOptions } from '../../api/companies.ts'
import { useMay } from '../../api/session.ts'
import { BULK_ACTIONS, BulkActions } from '../../components/bulk/BulkActions.tsx'
import { ChartCard, LineChart } from '../../components/charts.tsx'
import { ConfirmDialog, DialogButton, type DialogState } from '../../components/dialogs.tsx'
import { useErrorText } from '../../components/error-text.ts'
import { FilterSelect, Filters, phoneWidth } from '../../components/Filters.tsx'
import { Page, Panel, Tile, Tiles } from '../../components/Page.tsx'
import { QueryState } from '../../components/states.tsx'
import { useChange } from '../../components/use-change.ts'
import { CodeBlock } from '../../components/values.tsx'
import { useFormat } from '../../lib/format.ts'
import { firstUnfinished } from '../../lib/points.ts'
import {
  RANGES,
  SUPPRESSION_LISTS,
  SUPPRESSION_REASONS,
  type SuppressionReason,
  type SuppressionSearch,
} from '../../searches.ts'
import { EntryDrawer, historyQuery, useSuppressionChange } from './EntryDrawer.tsx'
import { EndedTable, EntryTable, REFRESH_MS, ReasonText, STATS } from './EntryTables.tsx'

export const Route = createLazyRoute('/signed-in/suppression')({ component: Suppression })

function Suppression() {
  const { t } = useTranslation('suppression')
  const search = Route.useSearch()
  const navigate = useNavigate()
  const show = (next: SuppressionSearch) =>
    void navigate({ to: '/suppression', search: next, resetScroll: next.open === search.open })
  const { show: shown = 'active' } = search
  return (
    <Page title={t('title')} subtitle={t('subtitle')} actions={<Changes />}>
      <Figures />
      <BulkActions kinds={['import-suppressions']} changes={['/admin/suppression']} />
      <div>
        <SegmentedControl
          size="sm"
          aria-label={t('show')}
          value={shown}
          data={SUPPRESSION_LISTS.map(value => ({ value, label: t(`shown.${value}`) }))}
          onChange={value => show(value === 'active' ? {} : { show: value })}
        />
      </div>
      {shown === 'active' ? (
        <>
          <EntryFilters search={search} show={show} />
          <EntryTable search={search} show={show} />
        </>
      ) : (
        <EndedTable ending={shown} search={search} show={show} />
      )}
      <EntryDrawer search={search} show={show} />
    </Page>
  )
}

function Changes() {
  const { t } = useTranslation('suppression')
  if (!useMay('support')) return null
  return (
    <>
      <DialogButton leftSection={<IconPlus size={16} />} dialog={state => <AddDialog {...state} />}>
        {t('add.button')}
      </DialogButton>
      <DialogButton
        variant="default"
        leftSection={<IconUpload size={16} />}
        dialog={state => <ImportDialog {...state} />}
      >
        {t('import.button')}
      </DialogButton>
    </>
  )
}

type StatsProps = { stats: Schemas['SuppressionStats'] }

function Figures() {
  const query = useQuery({ ...read(STATS), refetchInterval: REFRESH_MS })
  const skeleton = (
    <Stack gap="md">
      <Skeleton height={92} />
      <Skeleton height={280} />
    </Stack>
  )
  return (
    <QueryState query={query} skeleton={skeleton}>
      {stats => (
        <>
          <StatTiles stats={stats} />
          <Grid gap="md">
            <Grid.Col span={{ base: 12, md: 8 }}>
              <GrowthChart stats={stats} />
            </Grid.Col>
            <Grid.Col span={{ base: 12, md: 4 }}>
              <ReasonShares stats={stats} />
            </Grid.Col>
          </Grid>
        </>
      )}
    </QueryState>
  )
}

/** Total active, hard bounces, complaints, and how often the list stops an e-mail. */
function StatTiles({ stats: { active, last24Hours } }: StatsProps) {
  const { t } = useTranslation('suppression')
  const { number, percent } = useFormat()
  const share = (count: number) => t('tiles.share', { share: percent(active.total === 0 ? 0 : count / active.total) })
  const { requests, blocked, hitRate } = last24Hours
  return (
    <Tiles>
      <Tile label={t('tiles.total')} value={number(active.total)} hint={t('tiles.totalHint')} />
      <Tile label={t('tiles.bounces')} value={number(active.HARD_BOUNCE)} hint={share(active.HARD_BOUNCE)} />
      <Tile label={t('tiles.complaints')} value={number(active.COMPLAINT)} hint={share(active.COMPLAINT)} />
      <Tile
        label={t('tiles.hitRate')}
        value={requests === 0 ? '–' : percent(hitRate / 100)}
        hint={requests === 0 ? t('tiles.noRequests') : t('tiles.hits', { blocked: number(blocked), count: requests })}
      />
    </Tiles>
  )
}

const SERIES = { added: '#c2362b, #ff7b72', removed: '#1a7f37, #3fb950', expired: '#6c757d, #9aa4ae' } as const
const NAMES = ['added', 'removed', 'expired'] as const

function GrowthChart({ stats: { growth } }: StatsProps) {
  const { t } = useTranslation('suppression')
  const { number, compact, utcDay: day } = useFormat()
  const series = NAMES.map(name => ({ name, label: t(`growth.${name}`), color: `light-dark(${SERIES[name]})` }))
  const points = growth.map(({ day: at, added, removed, expired }) => ({ at, added, removed, expired }))
  const unfinishedFrom = firstUnfinished(points, 86_400, new Date())
  return (
    <ChartCard
      question={t('growth.question')}
      unit={t('growth.unit')}
      table={{
        unfinishedFrom,
        head: [t('growth.day'), ...series.map(({ label }) => label), t('growth.net')],
        rows: growth.map(row => [day(row.day), ...NAMES.map(name => number(row[name])), number(row.net)]),
      }}
      chart={
        <LineChart
          label={t('growth.question')}
          points={points}
          series={series}
          formatTime={day}
          formatValue={number}
          formatTick={compact}
          height={180}
          unfinishedFrom={unfinishedFrom}
        />
      }
    />
  )
}

const COLOURS: Record<SuppressionReason, string> = { HARD_BOUNCE: 'red', COMPLAINT: 'violet', MANUAL: 'gray.6' }

function ReasonShares({ stats: { active } }: StatsProps) {
  const { t } = useTranslation('suppression')
  const { number, percent } = useFormat()
  return (
    <Panel title={t('reasonsQuestion')}>
      <Stack gap="md">
        {SUPPRESSION_REASONS.map(reason => {
          const share = active.total === 0 ? 0 : active[reason] / active.total
          return (
            <div key={reason}>
              <Group justify="space-between" gap="xs">
                <ReasonText reason={reason} />
                <Text size="sm" className="numbers nowrap">
                  {number(active[reason])} · {percent(share)}
                </Text>
              </Group>
              <Progress
                value={Math.round(share * 1000) / 10}
                color={COLOURS[reason]}
                size="sm"
                mt={4}
                aria-label={t(`reasons.${reason}`)}
              />
            </div>
          )
        })}
      </Stack>
    </Panel>
  )
}

type EntryFiltersProps = { search: SuppressionSearch; show: (search: SuppressionSearch) => void }

function EntryFilters({ search, show }: EntryFiltersProps) {
  const { t } = useTranslation(['suppression', 'common'])
  const companies = useCompanyOptions()
  const { cursors: _, open: __, ...place } = search
  const change = (next: SuppressionSearch) => show({ ...place, ...next })
  const { reason, company, range, search: text } = search
  return (
    <Filters onClear={reason || company || range || text ? () => show({}) : undefined}>
      <SearchBox search={search} show={show} />
      <FilterSelect
        label={t('suppression:reason')}
        value={reason}
        options={SUPPRESSION_REASONS.map(value => ({ value, label: t(`suppression:reasons.${value}`) }))}
        onChange={chosen => change({ reason: chosen })}
      />
      <FilterSelect
        label={t('suppression:list')}
        value={company}
        options={[{ value: 'global', label: t('suppression:global') }, ...companies]}
        onChange={chosen => change({ company: chosen })}
      />
      <FilterSelect
        label={t('suppression:added')}
        value={range}
        options={RANGES.map(value => ({ value, label: t(`common:ranges.${value}`) }))}
        onChange={chosen => change({ range: chosen })}
      />
    </Filters>
  )
}

/** An address opens its details, with its hash in the URL; digits of a hash filter the list. */
function SearchBox({ search, show }: EntryFiltersProps) {
  const { t } = useTranslation('suppression')
  const errorText = useErrorText()
  const client = useQueryClient()
  const [text, setText] = useState(search.search ?? '')
  const [error, setError] = useState<string | null>(null)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setError(null)
    const { cursors: _, open: __, search: ___, ...place } = search
    if (!text.includes('@')) return show({ ...place, search: text.trim() || undefined })
    try {
      const history = await take(api.POST('/admin/suppression/look-up', { body: { email: text.trim() } }))
      client.setQueryData(historyQuery(history.emailHash).queryKey, history)
      show({ ...place, open: history.emailHash })
    } catch (refusal) {
      setError(errorText(refusal))
    }
  }
  return (
    <form onSubmit={submit} style={phoneWidth(t('search'))}>
      <TextInput
        size="sm"
        w={340}
        maw="100%"
        aria-label={t('search')}
        placeholder={t('search')}
        value={text}
        error={error}
        maxLength={320}
        autoComplete="off"
        onChange={event => setText(event.currentTarget.value)}
        rightSectionWidth={40}
        rightSection={
          <Button type="submit" size="compact-sm" variant="subtle" px={6} aria-label={t('searchButton')}>
            <IconSearch size={16} />
          </Button>
        }
      />
    </form>
  )
}

function AddDialog(dialog: DialogState) {
  const { t } = useTranslation('suppression')
  const change = useSuppressionChange()
  const [email, setEmail] = useState('')
  const [days, setDays] = useState<number | string>('')
  const [company, setCompany] = useState<string | null>(null)
  const add = async (justification: string) => {
    const expiresInDays = days === '' ? undefined : Number(days)
    const body = { email: email.trim(), justification, expiresInDays, company: company ?? undefined }
    await change(api.POST('/admin/suppression', { body }), ({ added }) => t(added ? 'add.done' : 'add.unchanged'))
    setEmail('')
    setDays('')
    setCompany(null)
  }
  return (
    <ConfirmDialog
      {...dialog}
      title={t('add.title')}
      verb={t('add.button')}
      consequence={t('add.consequence')}
      askReason
      childFocus
      fields={['email', 'expiresInDays']}
      onConfirm={add}
    >
      {errorOf => (
        <>
          <TextInput
            label={t('add.email')}
            type="email"
            error={errorOf('email')}
            value={email}
            onChange={event => setEmail(event.currentTarget.value)}
            required
            withAsterisk={false}
            maxLength={320}
            autoComplete="off"
            data-autofocus
          />
          <NumberInput
            label={t('add.days')}
            description={t('add.daysHint')}
            error={errorOf('expiresInDays')}
            value={days}
            onChange={setDays}
            min={0}
            max={36_500}
            clampBehavior="none"
            allowDecimal={false}
          />
          <ListSelect value={company} onChange={setCompany} />
        </>
      )}
    </ConfirmDialog>
  )
}

/** Null: the list of all companies. */
function ListSelect({ value, onChange }: { value: string | null; onChange: (value: string | null) => void }) {
  const { t } = useTranslation('suppression')
  return (
    <Select
      label={t('list')}
      placeholder={t('global')}
      data={useCompanyOptions()}
      value={value}
      onChange={onChange}
      clearable
      searchable
    />
  )
}

const MAX_BYTES = 5 * 1024 * 1024
const MAX_LINES = 100_000
const EXAMPLE = 'email,reason,expires_at\nmaria@example.com,MANUAL,2027-12-31\njoao@example.com,COMPLAINT,never'

function ImportDialog(dialog: DialogState) {
  const { t } = useTranslation('suppression')
  const { number, bytes } = useFormat()
  const change = useChange(BULK_ACTIONS)
  const [file, setFile] = useState<File | null>(null)
  const [company, setCompany] = useState<string | null>(null)
  const isTooLarge = file !== null && file.size > MAX_BYTES
  const start = async (reason: string) => {
    if (!file || isTooLarge) return
    const csv = await file.text()
    const body = { kind: 'import-suppressions', reason, csv, company: company ?? undefined } as const
    await change(api.POST(BULK_ACTIONS, { body }), t('import.started'))
    setFile(null)
  }
  return (
    <ConfirmDialog
      {...dialog}
      title={t('import.title')}
      verb={t('import.button')}
      consequence={t('import.consequence')}
      askReason
      childFocus
      onConfirm={start}
    >
      <FileInput
        label={t('import.file')}
        description={t('import.limit', { size: bytes(MAX_BYTES), lines: number(MAX_LINES) })}
        placeholder={t('import.choose')}
        accept=".csv,text/csv,text/plain"
        title={file?.name}
        value={file}
        onChange={setFile}
        required
        withAsterisk={false}
        data-autofocus
        clearable
        clearButtonProps={{ 'aria-label': t('import.clear') }}
      />
      {isTooLarge && (
        <Alert color="red" variant="light" role="alert">
          {t('import.tooLarge', { size: bytes(file.size) })}
        </Alert>
      )}
      <div>
        <Text size="sm" className="quiet" mb={4}>
          {t('import.format')}
        </Text>
        <CodeBlock code={EXAMPLE} />
      </div>
      <ListSelect value={company} onChange={setCompany} />
    </ConfirmDialog>
  )
}
