import { Button, Group, Skeleton, Stack, Tabs, Title } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, take } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { TextLink } from '../../components/links.tsx'
import { notify } from '../../components/notify.ts'
import { QueryState } from '../../components/QueryState.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import classes from './Inbox.module.css'
import { Attachments, Headers, HtmlPart, Links, Source, TextPart } from './MessageParts.tsx'
import { type CapturedMessage, INBOX_KEY, messageQuery } from './queries.ts'
import { inboxRoute, type MessageTab } from './routes.ts'

export const Route = createLazyRoute('/signed-in/inbox/$messageId')({ component: InboxMessage })

function InboxMessage() {
  const { messageId } = Route.useParams()
  const { t } = useTranslation('inbox')
  const kept = inboxRoute.useSearch()
  const query = useQuery(messageQuery(messageId))
  return (
    <Stack gap="sm">
      <TextLink to="/inbox" search={kept} size="sm" hiddenFrom="md">
        ← {t('back')}
      </TextLink>
      <QueryState query={query} skeleton={<Skeleton height={400} />}>
        {message => <Shown key={messageId} captured={message} />}
      </QueryState>
    </Stack>
  )
}

function Shown({ captured }: { captured: CapturedMessage }) {
  const { t } = useTranslation('inbox')
  const { message, links } = captured
  const parts: Partial<Record<MessageTab, [label: string, part: ReactNode]>> = {
    ...(message.html !== null && { html: [t('tabs.html'), <HtmlPart key="html" captured={captured} />] as const }),
    text: [t('tabs.text'), <TextPart key="text" text={message.text} />],
    source: [t('tabs.source'), <Source key="source" messageId={captured.messageId} />],
    headers: [t('tabs.headers'), <Headers key="headers" captured={captured} />],
    ...(message.attachments.length > 0 && {
      attachments: [
        `${t('tabs.attachments')} (${message.attachments.length})`,
        <Attachments key="attachments" captured={captured} />,
      ] as const,
    }),
    links: [`${t('tabs.links')} (${links.length})`, <Links key="links" links={links} />],
  }
  return (
    <>
      <Group justify="space-between" align="flex-start" wrap="nowrap" gap="sm">
        <Title order={2} size="h4">
          {message.subject || t('noSubject')}
        </Title>
        <DeleteOne messageId={captured.messageId} />
      </Group>
      <Facts captured={captured} />
      <MessageTabs parts={parts} />
    </>
  )
}

function MessageTabs({ parts }: { parts: Partial<Record<MessageTab, [label: string, part: ReactNode]>> }) {
  const { t } = useTranslation('inbox')
  const navigate = useNavigate()
  const kept = inboxRoute.useSearch()
  const names = Object.keys(parts) as MessageTab[]
  const chosen = kept.tab && parts[kept.tab] ? kept.tab : names[0]!
  return (
    <Tabs
      value={chosen}
      keepMounted={false}
      onChange={next => void navigate({ to: '.', search: { ...kept, tab: next as MessageTab }, replace: true })}
    >
      <Tabs.List aria-label={t('tabs.label')} mb="sm">
        {names.map(name => (
          <Tabs.Tab key={name} value={name}>
            {parts[name]![0]}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {names.map(name => (
        <Tabs.Panel key={name} value={name}>
          {parts[name]![1]}
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}

function Facts({ captured }: { captured: CapturedMessage }) {
  const { t } = useTranslation('inbox')
  const { message, outboxId, capturedAt } = captured
  const people: [label: string, value: string][] = [
    [t('from'), message.from],
    [t('to'), message.to.join(', ')],
    [t('cc'), message.cc.join(', ')],
    [t('bcc'), message.bcc.join(', ')],
    [t('replyTo'), message.replyTo.join(', ')],
  ]
  return (
    <dl className={classes.facts}>
      {people
        .filter(([, value]) => value)
        .map(([label, value]) => (
          <Fact key={label} label={label}>
            {value}
          </Fact>
        ))}
      <Fact label={t('captured')}>
        <TimeText at={capturedAt} exact />
      </Fact>
      <Fact label={t('email')}>
        <TextLink to="/emails/$outboxId" params={{ outboxId }} size="sm">
          {t('openEmail')}
        </TextLink>
      </Fact>
    </dl>
  )
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <>
      <dt className="quiet">{label}</dt>
      <dd>{children}</dd>
    </>
  )
}

function DeleteOne({ messageId }: { messageId: string }) {
  const { t } = useTranslation('inbox')
  const [asking, setAsking] = useState(false)
  const kept = inboxRoute.useSearch()
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  const remove = async () => {
    await take(api.DELETE('/admin/inbox/{messageId}', { params: { path: { messageId } } }))
    notify.done(t('deleted'))
    await navigate({ to: '/inbox', search: kept })
    await queryClient.invalidateQueries({ queryKey: INBOX_KEY })
  }
  if (!useMay('support')) return null
  return (
    <>
      <Button size="compact-md" variant="default" flex="none" onClick={() => setAsking(true)}>
        {t('delete')}
      </Button>
      <ConfirmDialog
        opened={asking}
        onClose={() => setAsking(false)}
        title={t('deleteTitle')}
        verb={t('delete')}
        consequence={t('deleteConsequence')}
        danger
        onConfirm={remove}
      />
    </>
  )
}
