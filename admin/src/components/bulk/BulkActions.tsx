import { Button, Stack } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type BulkAction, type BulkKind, bulkActionsQuery } from '../../api/bulk-actions.ts'
import { useNow } from '../../lib/now.ts'
import { Panel } from '../Panel.tsx'
import { BulkProgress } from './BulkProgress.tsx'

/** So long an action that has ended stays in sight by itself. */
const RECENT_MS = 60_000

type BulkActionsProps = {
  kinds: BulkKind[]
  /** What an action changes: asked again when one has moved on. */
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
  const keys = changes.join()
  useEffect(() => {
    if (before.current !== null && before.current !== progress)
      for (const key of keys.split(',')) void client.invalidateQueries({ queryKey: [key] })
    before.current = progress
  }, [client, progress, keys])
}
