import { Button, SegmentedControl } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, take } from '../../api/client.ts'
import { useMay, useSession } from '../../api/session.ts'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { notify } from '../../components/notify.ts'
import { Page } from '../../components/Page.tsx'
import { StaleBar } from '../../components/QueryState.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import { browserOf } from './browser.ts'
import classes from './Sessions.module.css'

export const Route = createLazyRoute('/signed-in/sessions')({ component: Sessions })

type Listed = Awaited<ReturnType<typeof readSessions>>['data'][number]

const readSessions = (of: 'me' | 'everybody', signal?: AbortSignal) =>
  take(api.GET('/admin/sessions', { params: { query: { of } }, ...(signal && { signal }) }))

/** Where one is signed in, and ending it; administrators see everybody's. */
function Sessions() {
  const { t } = useTranslation('sessions')
  const { of = 'me' } = Route.useSearch()
  const navigate = Route.useNavigate()
  const mayAll = useMay('administrator')
  const [ending, setEnding] = useState<Listed | 'all' | null>(null)
  const query = useQuery({ queryKey: ['sessions', of], queryFn: ({ signal }) => readSessions(of, signal) })
  const columns = useColumns(of, setEnding)
  return (
    <Page
      title={t('title')}
      subtitle={t(of === 'everybody' ? 'subtitleEverybody' : 'subtitle')}
      actions={
        <Button variant="default" onClick={() => setEnding('all')}>
          {t('endAll')}
        </Button>
      }
    >
      {mayAll && (
        <SegmentedControl
          size="sm"
          className={classes.of}
          aria-label={t('of')}
          value={of}
          onChange={value => void navigate({ search: value === 'everybody' ? { of: 'everybody' } : {} })}
          data={[
            { value: 'me', label: t('mine') },
            { value: 'everybody', label: t('everybody') },
          ]}
        />
      )}
      {query.error && !query.data ? (
        <ErrorState error={query.error} reset={() => void query.refetch()} />
      ) : (
        <>
          <StaleBar query={query} />
          <DataTable
            label={t('title')}
            columns={columns}
            rows={query.data?.data}
            rowKey={one => one.sessionId}
            empty={<EmptyState title={t('empty')} hint={t('emptyHint')} />}
          />
        </>
      )}
      <EndDialog ending={ending} onClose={() => setEnding(null)} />
    </Page>
  )
}

function useColumns(of: string, end: (session: Listed) => void): Column<Listed>[] {
  const { t } = useTranslation('sessions')
  return [
    ...(of === 'everybody' ? [{ key: 'name', header: t('name'), cell: (one: Listed) => one.name }] : []),
    {
      key: 'browser',
      header: t('browser'),
      wide: true,
      cell: one => (
        <span className={classes.browser} title={one.userAgent}>
          {browserOf(one.userAgent) ?? t('unknown')}
          {one.current && <strong> · {t('current')}</strong>}
        </span>
      ),
    },
    { key: 'address', header: t('address'), cell: one => <span className={classes.short}>{one.address}</span> },
    { key: 'seen', header: t('lastSeen'), cell: one => <Time at={one.lastSeenAt} /> },
    { key: 'since', header: t('signedIn'), cell: one => <Time at={one.signedInAt} /> },
    { key: 'until', header: t('expires'), cell: one => <Time at={one.expiresAt} /> },
    {
      key: 'end',
      header: t('action'),
      cell: one =>
        one.current ? (
          ''
        ) : (
          <Button size="compact-sm" variant="default" onClick={() => end(one)}>
            {t('end')}
          </Button>
        ),
    },
  ]
}

function Time({ at }: { at: string }) {
  return (
    <span className={classes.short}>
      <TimeText at={at} />
    </span>
  )
}

type EndDialogProps = { ending: Listed | 'all' | null; onClose: () => void }

function EndDialog({ ending, onClose }: EndDialogProps) {
  const { t } = useTranslation('sessions')
  const { name } = useSession()
  const queryClient = useQueryClient()
  const confirm = async () => {
    const { ended } = await take(
      ending === 'all' || ending === null
        ? api.DELETE('/admin/sessions')
        : api.DELETE('/admin/sessions/{sessionId}', { params: { path: { sessionId: ending.sessionId } } }),
    )
    notify.done(t('ended', { count: ended }))
    await queryClient.invalidateQueries()
  }
  return (
    <ConfirmDialog
      opened={ending !== null}
      onClose={onClose}
      title={ending === 'all' ? t('endAll') : t('endOne')}
      verb={ending === 'all' ? t('endAll') : t('end')}
      consequence={
        ending === 'all' ? t('endAllConsequence') : t('endConsequence', { name: ending === null ? name : ending.name })
      }
      danger
      onConfirm={confirm}
    />
  )
}
