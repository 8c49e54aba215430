import { Button, Center, Skeleton, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconArrowUp, IconPaperclip, IconSearch } from '@tabler/icons-react'
import { infiniteQueryOptions, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { createLazyRoute, Link, Outlet, useNavigate, useParams } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, read, type Schemas, take } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { ConfirmDialog, DialogButton } from '../../components/dialogs.tsx'
import { notify } from '../../components/notify.ts'
import { Page } from '../../components/Page.tsx'
import { EmptyState, QueryState } from '../../components/states.tsx'
import { useRowKeys } from '../../components/table.tsx'
import { TimeText } from '../../components/values.tsx'
import classes from './Inbox.module.css'

export const Route = createLazyRoute('/signed-in/inbox')({ component: Inbox })

const SEARCH_DELAY_MS = 300
const REFRESH_MS = 4_000
const INBOX = '/admin/inbox'

type ListedMessage = Schemas['CapturedListed']

const pageParameters = (search: string | undefined, cursor?: string) => ({
  query: { content: 'false' as const, limit: 50, search, cursor },
})

const messagesQuery = (search: string | undefined) =>
  infiniteQueryOptions({
    queryKey: [INBOX, 'pages', search],
    queryFn: ({ pageParam, signal }) => take(api.GET(INBOX, { params: pageParameters(search, pageParam), signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: last => last.cursor ?? undefined,
    // New messages are announced, not put under the reader's pointer.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  })

/** What is newest now, to say how many have come since. */
const newestQuery = (search: string | undefined) => ({
  ...read(INBOX, pageParameters(search)),
  refetchInterval: REFRESH_MS,
})

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
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  const deleteAll = async () => {
    const { deleted } = await take(api.DELETE(INBOX))
    notify.done(t('deletedAll', { count: deleted }))
    await navigate({ to: '/inbox', search: {} })
    await queryClient.resetQueries({ predicate: ({ queryKey }) => queryKey[0] === INBOX })
  }
  if (!useMay('support')) return null
  return (
    <DialogButton
      variant="default"
      color="red"
      disabled={disabled}
      dialog={state => (
        <ConfirmDialog
          {...state}
          title={t('deleteAllTitle')}
          verb={t('deleteAll')}
          consequence={t('deleteAllConsequence')}
          danger
          onConfirm={deleteAll}
        />
      )}
    >
      {t('deleteAll')}
    </DialogButton>
  )
}

type MessageListProps = {
  messages: ListedMessage[]
  search: string | undefined
  openId: string | undefined
  /** Undefined: there are no older ones. */
  onOlder: (() => void) | undefined
  onRefresh: () => void
}

function MessageList({ messages, search, openId, onOlder, onRefresh }: MessageListProps) {
  const { t } = useTranslation('inbox')
  const navigate = useNavigate()
  const place = Route.useSearch()
  const list = useRef<HTMLElement>(null)
  const open = (messageId: string) => void navigate({ to: '/inbox/$messageId', params: { messageId }, search: place })
  const { active, bodyRef } = useRowKeys(
    messages.map(({ messageId }) => messageId),
    { open, select: open },
  )
  const newer = useNewerCount(messages, search)
  return (
    <nav className={classes.list} aria-label={t('list')} ref={list}>
      {newer > 0 && (
        <div className={classes.newer}>
          <Button
            size="compact-sm"
            fullWidth
            variant="light"
            leftSection={<IconArrowUp size={14} aria-hidden />}
            onClick={() => {
              onRefresh()
              list.current?.scrollTo({ top: 0 })
            }}
          >
            {t('newer', { count: newer })}
          </Button>
        </div>
      )}
      <div ref={bodyRef as never}>
        {messages.map(message => (
          <Entry
            key={message.messageId}
            message={message}
            isActive={message.messageId === (openId ?? active)}
            isMarked={message.messageId === active}
          />
        ))}
      </div>
      {onOlder && (
        <Button variant="subtle" fullWidth my="xs" onClick={onOlder}>
          {t('older')}
        </Button>
      )}
    </nav>
  )
}

function Entry({ message, isActive, isMarked }: { message: ListedMessage; isActive: boolean; isMarked: boolean }) {
  const { t } = useTranslation('inbox')
  const place = Route.useSearch()
  const { messageId, capturedAt, snippet } = message
  const { to, subject, attachments } = message.message
  return (
    <Link
      to="/inbox/$messageId"
      params={{ messageId }}
      search={place}
      className={classes.entry!}
      data-key={messageId}
      data-active={isActive || isMarked || undefined}
      {...(isActive && { 'aria-current': 'true' as const })}
    >
      <div className={classes.line}>
        <span title={to.join(', ')}>{to.map(nameOf).join(', ')}</span>
        <span className="quiet">
          {attachments.length > 0 && (
            <IconPaperclip size={14} aria-label={t('attachments', { count: attachments.length })} />
          )}{' '}
          <TimeText at={capturedAt} />
        </span>
      </div>
      <div className={classes.subject} title={subject}>
        {subject || t('noSubject')}
      </div>
      <div className={`${classes.snippet} quiet`}>{snippet}</div>
    </Link>
  )
}

/** The name of `"Maria Silva" <maria@example.com>`, or the address when there is none. */
const nameOf = (mailbox: string) => /^"?(.+?)"?\s*<[^<>]*>$/.exec(mailbox)?.[1] ?? mailbox

/** How many have come since the list was read. */
function useNewerCount(messages: ListedMessage[], search: string | undefined): number {
  const newest = useQuery(newestQuery(search)).data?.data ?? []
  const first = messages[0]?.messageId
  const position = newest.findIndex(({ messageId }) => messageId === first)
  if (newest.length === 0 || first === undefined) return 0
  return position === -1 ? newest.length : position
}

function ListSkeleton() {
  return (
    <Stack gap={6}>
      {Array.from({ length: 8 }, (_, index) => index).map(index => (
        <Skeleton key={index} height={58} maw={380} />
      ))}
    </Stack>
  )
}
