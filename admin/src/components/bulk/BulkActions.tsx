import { Alert, Button, Group, List, Progress, Stack, Text } from '@mantine/core'
import { IconAlertTriangle, IconCircleCheck, IconClock, IconLoader, IconPlayerStop } from '@tabler/icons-react'
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { type RefObject, useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, read, type Schemas } from '../../api/client.ts'
import { useCompanyName } from '../../api/companies.ts'
import { isProblem } from '../../api/problem.ts'
import { useMay } from '../../api/session.ts'
import { useFormat } from '../../lib/format.ts'
import { keepFocus } from '../../lib/keyboard.ts'
import { useNow } from '../../lib/now.ts'
import { usePreferences } from '../../lib/preferences.ts'
import { useErrorText } from '../error-text.ts'
import { notify } from '../notify.ts'
import { Panel } from '../Page.tsx'
import { refresh, useChange } from '../use-change.ts'
import { TimeText, Tone } from '../values.tsx'

type BulkAction = Schemas['BulkAction']
type BulkKind = BulkAction['kind']

export const BULK_ACTIONS = '/admin/bulk-actions'
const RUNNING_MS = 1_000
const QUIET_MS = 10_000

/** The newest actions of some kinds. Asked for every second while one of them runs, whoever has started it. */
const bulkActionsQuery = (kinds: BulkKind[]) =>
  queryOptions({
    ...read(BULK_ACTIONS, { query: { limit: 50 } }),
    select: ({ data }) => data.filter(({ kind }) => kinds.includes(kind)),
    refetchInterval: ({ state }) =>
      state.data?.data.some(({ finishedAt }) => finishedAt === null) ? RUNNING_MS : QUIET_MS,
    staleTime: 0,
  })

/** So long an action that has ended stays in sight by itself. */
const RECENT_MS = 60_000

type BulkActionsProps = {
  kinds: BulkKind[]
  /** The routes whose answers an action changes: asked again when one has moved on. */
  changes: string[]
}

/** The progress of bulk actions, also of those that somebody else has started. Nothing when there was none lately. */
export function BulkActions({ kinds, changes }: BulkActionsProps) {
  const { t } = useTranslation('bulk')
  const [showsAll, setShowsAll] = useState(false)
  const now = useNow()
  const { data = [] } = useQuery(bulkActionsQuery(kinds))
  useRefresh(data, changes)
  const isRecent = ({ finishedAt }: BulkAction) => finishedAt === null || now - Date.parse(finishedAt) < RECENT_MS
  const recent = data.filter(isRecent)
  const shown = showsAll ? data : recent
  if (data.length === 0) return null
  if (shown.length === 0)
    return (
      <div>
        <Button size="compact-sm" variant="subtle" onClick={() => setShowsAll(true)}>
          {t('earlier', { count: data.length })}
        </Button>
      </div>
    )
  return (
    <Panel title={t('title')}>
      <Stack gap="md">
        {shown.map(action => (
          <BulkProgress key={action.actionId} action={action} />
        ))}
        {data.length > recent.length && (
          <div>
            <Button size="compact-sm" variant="subtle" onClick={() => setShowsAll(!showsAll)}>
              {showsAll ? t('fewer') : t('earlier', { count: data.length - recent.length })}
            </Button>
          </div>
        )}
      </Stack>
    </Panel>
  )
}

/** The lists of the view follow the progress. */
function useRefresh(actions: BulkAction[], changes: string[]): void {
  const client = useQueryClient()
  const progress = actions.map(({ actionId, state, done, failed }) => `${actionId} ${state} ${done} ${failed}`).join()
  const before = useRef<string | null>(null)
  const routes = changes.join()
  useEffect(() => {
    if (before.current !== null && before.current !== progress) void refresh(client, routes.split(','))
    before.current = progress
  }, [client, progress, routes])
}

const STATES = {
  waiting: ['grey', IconClock],
  running: ['blue', IconLoader],
  stopped: ['amber', IconPlayerStop],
  done: ['green', IconCircleCheck],
  failed: ['red', IconAlertTriangle],
} as const

const TITLES = {
  'replay-dead-letters': 'replay',
  'purge-dead-letters': 'purge',
  'import-suppressions': 'import',
} as const

function BulkProgress({ action }: { action: BulkAction }) {
  const { t } = useTranslation('bulk')
  const { number, exact } = useFormat()
  const worked = action.done + action.failed
  const percent = action.total === 0 ? 100 : Math.min(100, (worked / action.total) * 100)
  const title = t(TITLES[action.kind])
  const section = useRef<HTMLDivElement>(null)
  return (
    <Stack ref={section} tabIndex={-1} gap={6} component="section" aria-label={`${title}, ${exact(action.createdAt)}`}>
      <Group justify="space-between" gap="xs">
        <Group gap="sm">
          <Text fw={600} size="sm">
            {title}
          </Text>
          <Tone look={STATES[action.state]}>{t(`states.${action.state}`)}</Tone>
        </Group>
        <Stop action={action} section={section} />
      </Group>
      <Progress.Root size="lg">
        <Progress.Section
          value={percent}
          color={action.state === 'failed' ? 'red' : 'blue'}
          aria-label={title}
          aria-valuetext={t('progress', { done: number(worked), total: number(action.total) })}
        />
      </Progress.Root>
      <Text size="sm" className="numbers">
        {t('progress', { done: number(worked), total: number(action.total) })}
        <Outcomes action={action} />
      </Text>
      <Origin action={action} />
      {action.lastError && (
        <Alert color="red" variant="light" py="xs">
          {t('lastError', { error: action.lastError })}
        </Alert>
      )}
      <Problems action={action} />
    </Stack>
  )
}

const OUTCOMES = [
  ...(['replayed', 'purged', 'added', 'raised', 'unchanged'] as const),
  ...(['payloadPurged', 'notFound', 'held', 'refused'] as const),
]

function Outcomes({ action }: { action: BulkAction }) {
  const { t } = useTranslation('bulk')
  return OUTCOMES.filter(outcome => action.counts[outcome]).map(outcome => (
    <span key={outcome} className="quiet">
      {' · '}
      {t(`outcomes.${outcome}`, { count: action.counts[outcome]! })}
    </span>
  ))
}

/** Who asked for it, what it was about, and why. */
function Origin({ action }: { action: BulkAction }) {
  const { t } = useTranslation('bulk')
  const { selection } = action
  const company = useCompanyName(selection.company)
  const about = [
    selection.chosen !== undefined && t('chosen', { count: selection.chosen }),
    selection.code,
    company,
    selection.status,
    action.kind !== 'import-suppressions' && selection.chosen === undefined && !selection.code && !company && t('all'),
  ].filter(Boolean)
  return (
    <Text size="sm" className="quiet" component="div">
      {about.length > 0 && `${about.join(' · ')} · `}
      {t('by', { name: action.requestedBy })} · <TimeText at={action.createdAt} /> · “{action.reason}”
    </Text>
  )
}

function Stop({ action, section }: { action: BulkAction; section: RefObject<HTMLDivElement | null> }) {
  const { t } = useTranslation('bulk')
  const change = useChange(BULK_ACTIONS)
  const errorText = useErrorText()
  const mayStop = useMay('support')
  const [busy, setBusy] = useState(false)
  if (action.finishedAt !== null || !mayStop) return null
  const stop = async () => {
    setBusy(true)
    const params = { path: { actionId: action.actionId } }
    await change(api.POST('/admin/bulk-actions/{actionId}/stop', { params }), t('stopped')).catch(error => {
      // It ended by itself meanwhile: the list below says so.
      if (!isProblem(error, 'ALREADY_ENDED')) notify.failed(errorText(error))
    })
    setBusy(false)
    keepFocus(section.current)
  }
  return (
    <Button
      size="compact-sm"
      variant="default"
      loading={busy}
      onClick={stop}
      leftSection={<IconPlayerStop size={14} />}
    >
      {t('stop')}
    </Button>
  )
}

function Problems({ action: { problems, counts } }: { action: BulkAction }) {
  const { t } = useTranslation(['bulk', 'templateRules'])
  const { number } = useFormat()
  const { language } = usePreferences()
  const [opened, setOpened] = useState(false)
  if (problems.length === 0) return null
  // The gateway's own words are English, and say more than a code.
  const problemText = ({ problem, rule }: (typeof problems)[number]) =>
    rule && language !== 'en' ? t(`templateRules:${rule}`) : problem
  return (
    <div>
      <Button size="compact-sm" variant="subtle" aria-expanded={opened} onClick={() => setOpened(!opened)}>
        {t('refusedLines', { number: number(counts.refused ?? problems.length) })}
      </Button>
      {opened && (
        <List size="sm" mt={4}>
          {problems.map(problem => (
            <List.Item key={problem.line}>
              {t('line', { line: number(problem.line), problem: problemText(problem) })}
            </List.Item>
          ))}
        </List>
      )}
    </div>
  )
}
