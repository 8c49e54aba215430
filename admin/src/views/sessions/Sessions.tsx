import { Button, SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type Answers, api, read } from '../../api/client.ts'
import { useMay, useSession } from '../../api/session.ts'
import { ConfirmDialog } from '../../components/dialogs.tsx'
import { Page } from '../../components/Page.tsx'
import { EmptyState } from '../../components/states.tsx'
import { type Column, DataTable } from '../../components/table.tsx'
import { useChange } from '../../components/use-change.ts'
import { TimeText } from '../../components/values.tsx'
import { browserOf } from './browser.ts'
import classes from './Sessions.module.css'

export const Route = createLazyRoute('/signed-in/sessions')({ component: Sessions })

type Session = Answers<'/admin/sessions'>['data'][number]

/** Where one is signed in, and ending it; administrators see everybody's. */
function Sessions() {
  const { t } = useTranslation('sessions')
  const { of = 'me' } = Route.useSearch()
  const navigate = Route.useNavigate()
  const mayAll = useMay('administrator')
  const [ending, setEnding] = useState<Session | 'all' | null>(null)
  const query = useQuery(read('/admin/sessions', { query: { of } }))
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
          onChange={value => void navigate({ search: { of: value === 'everybody' ? value : undefined } })}
          data={[
            { value: 'me', label: t('mine') },
            { value: 'everybody', label: t('everybody') },
          ]}
        />
      )}
      <DataTable
        label={t('title')}
        columns={useColumns(of, setEnding)}
        query={query}
        rowKey={({ sessionId }) => sessionId}
        empty={<EmptyState title={t('empty')} hint={t('emptyHint')} />}
      />
      <EndDialog ending={ending} onClose={() => setEnding(null)} />
    </Page>
  )
}

function useColumns(of: string, end: (session: Session) => void): Column<Session>[] {
  const { t } = useTranslation('sessions')
  return [
    ...(of === 'everybody' ? [{ key: 'name', header: t('name'), cell: (session: Session) => session.name }] : []),
    {
      key: 'browser',
      header: t('browser'),
      wide: true,
      cell: session => (
        <span className={classes.browser} title={session.userAgent}>
          {browserOf(session.userAgent) ?? t('unknown')}
          {session.current && <strong> · {t('current')}</strong>}
        </span>
      ),
    },
    { key: 'address', header: t('address'), cell: session => <span className={classes.short}>{session.address}</span> },
    { key: 'seen', header: t('lastSeen'), cell: session => <Time at={session.lastSeenAt} /> },
    { key: 'since', header: t('signedIn'), cell: session => <Time at={session.signedInAt} /> },
    { key: 'until', header: t('expires'), cell: session => <Time at={session.expiresAt} /> },
    {
      key: 'end',
      header: t('action'),
      cell: session =>
        session.current ? (
          ''
        ) : (
          <Button size="compact-sm" variant="default" onClick={() => end(session)}>
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

type EndDialogProps = { ending: Session | 'all' | null; onClose: () => void }

function EndDialog({ ending, onClose }: EndDialogProps) {
  const { t } = useTranslation('sessions')
  const { name } = useSession()
  const change = useChange('/admin')
  const confirm = () =>
    change(
      ending === 'all' || ending === null
        ? api.DELETE('/admin/sessions')
        : api.DELETE('/admin/sessions/{sessionId}', { params: { path: { sessionId: ending.sessionId } } }),
      ({ ended }) => t('ended', { count: ended }),
    )
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
