import { Button, Center, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { createLazyRoute, Outlet, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, take } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { notify } from '../../components/notify.ts'
import { Page } from '../../components/Page.tsx'
import { QueryState } from '../../components/QueryState.tsx'
import classes from './Inbox.module.css'
import { ListSkeleton, MessageList } from './MessageList.tsx'
import { INBOX_KEY, messagesQuery, newestQuery } from './queries.ts'

export const Route = createLazyRoute('/signed-in/inbox')({ component: Inbox })

const SEARCH_DELAY_MS = 300

/** Messages cannot be masked. */
function Inbox() {
  const { t } = useTranslation('inbox')
  if (useMay('support')) return <Messages />
  return (
    <Page title={t('title')}>
      <EmptyState title={t('notForViewers')} />
    </Page>
  )
}

function Messages() {
  const { t } = useTranslation('inbox')
  const { search } = Route.useSearch()
  const { messageId } = useParams({ strict: false })
  const query = useInfiniteQuery(messagesQuery(search))
  const isEmpty = useQuery(newestQuery(undefined)).data?.data.length === 0
  return (
    <Page title={t('title')} subtitle={t('subtitle')} actions={<DeleteAll disabled={isEmpty} />}>
      <SearchBox search={search} />
      <QueryState query={query} skeleton={<ListSkeleton />}>
        {({ pages }) => {
          const messages = pages.flatMap(page => page.data)
          if (messages.length === 0 && !messageId) return <Nothing search={search} />
          return (
            <div className={classes.panes} data-open={messageId !== undefined}>
              <MessageList
                messages={messages}
                search={search}
                openId={messageId}
                onOlder={query.hasNextPage ? () => void query.fetchNextPage() : undefined}
                onRefresh={() => void query.refetch()}
              />
              <div className={classes.message}>{messageId ? <Outlet /> : <Choose />}</div>
            </div>
          )
        }}
      </QueryState>
    </Page>
  )
}

function SearchBox({ search }: { search: string | undefined }) {
  const { t } = useTranslation('inbox')
  const navigate = useNavigate()
  const [typed, setTyped] = useState(search ?? '')
  const find = useDebouncedCallback((text: string) => {
    void navigate({ to: '/inbox', search: text.trim() ? { search: text.trim() } : {}, replace: true })
  }, SEARCH_DELAY_MS)
  return (
    <TextInput
      type="search"
      aria-label={t('search')}
      placeholder={t('search')}
      leftSection={<IconSearch size={16} aria-hidden />}
      value={typed}
      maxLength={200}
      maw={380}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value)
        find(currentTarget.value)
      }}
    />
  )
}

function Choose() {
  const { t } = useTranslation('inbox')
  return (
    <Center mih={300}>
      <Stack gap={4} align="center">
        <Text fw={600}>{t('choose')}</Text>
        <Text size="sm" className="quiet">
          {t('chooseHint')}
        </Text>
      </Stack>
    </Center>
  )
}

function Nothing({ search }: { search: string | undefined }) {
  const { t } = useTranslation('inbox')
  if (search) return <EmptyState title={t('nothingFound', { search })} />
  return (
    <EmptyState
      title={t('empty')}
      hint={t('emptyHint')}
      command={`npx email-gateway send --to maria@example.com --subject Hello --text "It works."`}
    />
  )
}

function DeleteAll({ disabled }: { disabled: boolean }) {
  const { t } = useTranslation('inbox')
  const [asking, setAsking] = useState(false)
  const mayDelete = useMay('support')
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  const deleteAll = async () => {
    const { deleted } = await take(api.DELETE('/admin/inbox'))
    notify.done(t('deletedAll', { count: deleted }))
    await navigate({ to: '/inbox', search: {} })
    await queryClient.resetQueries({ queryKey: INBOX_KEY })
  }
  if (!mayDelete) return null
  return (
    <>
      <Button variant="default" color="red" disabled={disabled} onClick={() => setAsking(true)}>
        {t('deleteAll')}
      </Button>
      <ConfirmDialog
        opened={asking}
        onClose={() => setAsking(false)}
        title={t('deleteAllTitle')}
        verb={t('deleteAll')}
        consequence={t('deleteAllConsequence')}
        danger
        onConfirm={deleteAll}
      />
    </>
  )
}
