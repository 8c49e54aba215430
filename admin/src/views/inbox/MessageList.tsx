import { Button, Skeleton, Stack } from '@mantine/core'
import { IconArrowUp, IconPaperclip } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { TimeText } from '../../components/TimeText.tsx'
import { useRowKeys } from '../../components/use-row-keys.ts'
import classes from './Inbox.module.css'
import { type ListedMessage, newestQuery } from './queries.ts'
import { inboxRoute } from './routes.ts'

type MessageListProps = {
  messages: ListedMessage[]
  search: string | undefined
  openId: string | undefined
  /** Undefined: there are no older ones. */
  onOlder: (() => void) | undefined
  onRefresh: () => void
}

export function MessageList({ messages, search, openId, onOlder, onRefresh }: MessageListProps) {
  const { t } = useTranslation('inbox')
  const navigate = useNavigate()
  const kept = inboxRoute.useSearch()
  const list = useRef<HTMLElement>(null)
  const open = (messageId: string) => void navigate({ to: '/inbox/$messageId', params: { messageId }, search: kept })
  const { active, bodyRef } = useRowKeys(
    messages.map(one => one.messageId),
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
  const kept = inboxRoute.useSearch()
  const { messageId, capturedAt, snippet } = message
  const { to, subject, attachments } = message.message
  return (
    <Link
      to="/inbox/$messageId"
      params={{ messageId }}
      search={kept}
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
  const place = newest.findIndex(one => one.messageId === first)
  if (newest.length === 0 || first === undefined) return 0
  return place === -1 ? newest.length : place
}

export function ListSkeleton() {
  return (
    <Stack gap={6}>
      {Array.from({ length: 8 }, (_, index) => index).map(index => (
        <Skeleton key={index} height={58} maw={380} />
      ))}
    </Stack>
  )
}
