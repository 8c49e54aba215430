import { useBlocker } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import type { Source } from './Template.tsx'

/** What was typed and not saved outlives the sign-in page, which a session that has ended leads to. */
let kept: { key: string; source: Source } | null = null

/** The source in the editor. `key` names the version that it began with. */
export function useSource(key: string, saved: Source, readOnly: boolean) {
  const [source, setSource] = useState<Source>(() => (!readOnly && kept?.key === key ? kept.source : saved))
  const isChanged = JSON.stringify(source) !== JSON.stringify(saved)
  useEffect(() => {
    if (isChanged) kept = { key, source }
    else if (kept?.key === key) kept = null
  }, [key, source, isChanged])
  return { source, setSource, isChanged }
}

/** After a change that makes what was typed pointless: it was saved as another version, or the template was deleted. */
export function forgetUnsaved(): void {
  kept = null
}

/** Asks before somebody leaves an editor with unsaved changes; the browser asks when the tab is closed. */
export function LeaveDialog({ isChanged }: { isChanged: boolean }) {
  const { t } = useTranslation('templates')
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) =>
      isChanged && (current.pathname !== next.pathname || versionOf(current.search) !== versionOf(next.search)),
    enableBeforeUnload: isChanged,
    withResolver: true,
  })
  return (
    <ConfirmDialog
      opened={status === 'blocked'}
      onClose={() => reset?.()}
      title={t('leaveTitle')}
      verb={t('leave')}
      dismiss={t('stay')}
      consequence={t('leaveConsequence')}
      danger
      onConfirm={async () => {
        forgetUnsaved()
        proceed?.()
      }}
    />
  )
}

const versionOf = (search: object) => ('version' in search ? search.version : undefined)
