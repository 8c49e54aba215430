import { Alert, Button, Group, List, Progress, Stack, Text } from '@mantine/core'
import { IconAlertTriangle, IconCircleCheck, IconClock, IconLoader, IconPlayerStop } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type RefObject, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type BulkAction, stopBulkAction } from '../../api/bulk-actions.ts'
import { companiesQuery } from '../../api/companies.ts'
import { isProblem } from '../../api/problem.ts'
import { useMay } from '../../api/session.ts'
import { useFormat } from '../../lib/format.ts'
import { keepFocus } from '../../lib/keep-focus.ts'
import { usePreferences } from '../../lib/preferences.ts'
import { useErrorText } from '../error-text.ts'
import { notify } from '../notify.ts'
import { TimeText } from '../TimeText.tsx'
import { Tone } from '../Tone.tsx'

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

export function BulkProgress({ action }: { action: BulkAction }) {
  const { t } = useTranslation('bulk')
  const { number, exact } = useFormat()
  const [tone, icon] = STATES[action.state]
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
          <Tone tone={tone} icon={icon}>
            {t(`states.${action.state}`)}
          </Tone>
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
  const { data: companies } = useQuery(companiesQuery)
  const { selection } = action
  const company = companies?.data.find(one => one.companyId === selection.company)?.name ?? selection.company
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
  const errorText = useErrorText()
  const client = useQueryClient()
  const mayStop = useMay('support')
  const [busy, setBusy] = useState(false)
  if (action.finishedAt !== null || !mayStop) return null
  const stop = async () => {
    setBusy(true)
    try {
      await stopBulkAction(action.actionId)
      notify.done(t('stopped'))
    } catch (error) {
      // It ended by itself meanwhile: the list below says so.
      if (!isProblem(error, 'ALREADY_ENDED')) notify.failed(errorText(error))
    }
    await client.invalidateQueries({ queryKey: ['bulk-actions'] })
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
  const textOf = ({ problem, rule }: (typeof problems)[number]) =>
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
              {t('line', { line: number(problem.line), problem: textOf(problem) })}
            </List.Item>
          ))}
        </List>
      )}
    </div>
  )
}
