import { Alert, Anchor, Button, Group, Skeleton, Stack, Table, Tabs, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, getRouteApi, useNavigate } from '@tanstack/react-router'
import { Fragment, type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, read, type Schemas } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { ConfirmDialog, DialogButton } from '../../components/dialogs.tsx'
import { QueryState } from '../../components/states.tsx'
import { useChange } from '../../components/use-change.ts'
import { CodeBlock, CopyButton, TextLink, TimeText } from '../../components/values.tsx'
import { useFormat } from '../../lib/format.ts'
import type { InboxTab } from '../../searches.ts'
import classes from './Inbox.module.css'

export const Route = createLazyRoute('/signed-in/inbox/$messageId')({ component: InboxMessage })

type CapturedMessage = Schemas['CapturedMessage']

const inboxRoute = getRouteApi('/signed-in/inbox')

/** A message that is in the inbox does not change. */
const UNCHANGING = { staleTime: Number.POSITIVE_INFINITY }

/** The address of a file of the message, for frames and downloads. */
const fileUrl = (messageId: string, path: string) => `/admin/inbox/${encodeURIComponent(messageId)}/${path}`

function InboxMessage() {
  const { messageId } = Route.useParams()
  const { t } = useTranslation('inbox')
  const search = inboxRoute.useSearch()
  const query = useQuery({ ...read('/admin/inbox/{messageId}', { path: { messageId } }), ...UNCHANGING })
  return (
    <Stack gap="sm">
      <TextLink to="/inbox" search={search} size="sm" hiddenFrom="md">
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
  const parts: Partial<Record<InboxTab, [label: string, part: ReactNode]>> = {
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

function MessageTabs({ parts }: { parts: Partial<Record<InboxTab, [label: string, part: ReactNode]>> }) {
  const { t } = useTranslation('inbox')
  const navigate = useNavigate()
  const search = inboxRoute.useSearch()
  const names = Object.keys(parts) as InboxTab[]
  const chosen = search.tab && parts[search.tab] ? search.tab : names[0]!
  return (
    <Tabs
      value={chosen}
      keepMounted={false}
      onChange={next => void navigate({ to: '.', search: { ...search, tab: next as InboxTab }, replace: true })}
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
  const facts: [label: string, value: ReactNode][] = [
    [t('from'), message.from],
    [t('to'), message.to.join(', ')],
    [t('cc'), message.cc.join(', ')],
    [t('bcc'), message.bcc.join(', ')],
    [t('replyTo'), message.replyTo.join(', ')],
    [t('captured'), <TimeText key="captured" at={capturedAt} exact />],
    [
      t('email'),
      <TextLink key="email" to="/emails/$outboxId" params={{ outboxId }} size="sm">
        {t('openEmail')}
      </TextLink>,
    ],
  ]
  return (
    <dl className={classes.facts}>
      {facts
        .filter(([, value]) => value)
        .map(([label, value]) => (
          <Fragment key={label}>
            <dt className="quiet">{label}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
    </dl>
  )
}

function DeleteOne({ messageId }: { messageId: string }) {
  const { t } = useTranslation('inbox')
  const search = inboxRoute.useSearch()
  const navigate = useNavigate()
  const change = useChange('/admin/inbox')
  const remove = () =>
    change(
      api.DELETE('/admin/inbox/{messageId}', { params: { path: { messageId } } }),
      t('deleted'),
      async () => await navigate({ to: '/inbox', search }),
    )
  if (!useMay('support')) return null
  return (
    <DialogButton
      size="compact-md"
      variant="default"
      flex="none"
      dialog={state => (
        <ConfirmDialog
          {...state}
          title={t('deleteTitle')}
          verb={t('delete')}
          consequence={t('deleteConsequence')}
          danger
          onConfirm={remove}
        />
      )}
    >
      {t('delete')}
    </DialogButton>
  )
}

/** The frame runs nothing, by its sandbox and by the policy of what it shows. */
function HtmlPart({ captured }: { captured: CapturedMessage }) {
  const { t } = useTranslation('inbox')
  const [remote, setRemote] = useState(false)
  return (
    <Stack gap="xs">
      {captured.remoteImages && (
        <Alert variant="light" color="gray" py="xs">
          {t(remote ? 'remoteShown' : 'remoteBlocked')}{' '}
          <Button size="compact-xs" variant="default" onClick={() => setRemote(!remote)}>
            {t(remote ? 'hideRemote' : 'showRemote')}
          </Button>
        </Alert>
      )}
      <iframe
        className={classes.frame}
        title={t('preview')}
        sandbox=""
        src={fileUrl(captured.messageId, `preview${remote ? '?remote=true' : ''}`)}
      />
    </Stack>
  )
}

function TextPart({ text }: { text: string | null }) {
  const { t } = useTranslation('inbox')
  return text ? <pre className={classes.pre}>{text}</pre> : <Quiet>{t('noText')}</Quiet>
}

function Source({ messageId }: { messageId: string }) {
  const { t } = useTranslation('inbox')
  const query = useQuery({ ...read('/admin/inbox/{messageId}/source', { path: { messageId } }, 'text'), ...UNCHANGING })
  return (
    <Stack gap="xs">
      <Group justify="space-between" gap="xs">
        <Quiet>{t('sourceHint')}</Quiet>
        <Anchor size="sm" href={fileUrl(messageId, 'source')} download={`${messageId}.eml`}>
          {t('downloadSource')}
        </Anchor>
      </Group>
      <QueryState query={query} skeleton={<Skeleton height={300} />}>
        {source => <CodeBlock code={source} />}
      </QueryState>
    </Stack>
  )
}

function Headers({ captured: { message, messageId } }: { captured: CapturedMessage }) {
  const { t } = useTranslation('inbox')
  const headers: [name: string, value: string][] = [
    ['From', message.from],
    ['To', message.to.join(', ')],
    ['Cc', message.cc.join(', ')],
    ['Reply-To', message.replyTo.join(', ')],
    ['Subject', message.subject],
    [t('messageId'), messageId],
    ...Object.entries(message.headers),
  ]
  return (
    <PartTable head={[t('header'), t('value')]}>
      {headers
        .filter(([, value]) => value)
        .map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Td className="quiet">{name}</Table.Td>
            <Table.Td className="mono">{value}</Table.Td>
          </Table.Tr>
        ))}
    </PartTable>
  )
}

function Attachments({ captured: { message, messageId } }: { captured: CapturedMessage }) {
  const { t } = useTranslation('inbox')
  const format = useFormat()
  return (
    <PartTable head={[t('file'), t('size'), '']}>
      {message.attachments.map((file, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two files may have the same name, and their order is fixed
        <Table.Tr key={index}>
          <Table.Td>
            {file.filename}
            <div className="mono quiet">{file.contentType}</div>
          </Table.Td>
          <Table.Td className="nowrap">{format.bytes(file.bytes)}</Table.Td>
          <Table.Td>
            <Anchor size="sm" href={fileUrl(messageId, `attachments/${index}`)} download={file.filename}>
              {t('download')}
            </Anchor>
          </Table.Td>
        </Table.Tr>
      ))}
    </PartTable>
  )
}

/** As text to copy: whoever looks at a strange message should not follow its links by mistake. */
function Links({ links }: { links: CapturedMessage['links'] }) {
  const { t } = useTranslation('inbox')
  if (links.length === 0) return <Quiet>{t('noLinks')}</Quiet>
  return (
    <PartTable head={[t('linkText'), t('linkTarget'), '']}>
      {links.map(({ href, text }) => (
        <Table.Tr key={href}>
          <Table.Td>{text}</Table.Td>
          <Table.Td className="mono">{href}</Table.Td>
          <Table.Td>
            <CopyButton value={href} label={href} />
          </Table.Td>
        </Table.Tr>
      ))}
    </PartTable>
  )
}

function PartTable({ head, children }: { head: string[]; children: ReactNode }) {
  return (
    <Table verticalSpacing={4} className={classes.parts!}>
      <Table.Thead>
        <Table.Tr>
          {head.map(text => (text ? <Table.Th key={text}>{text}</Table.Th> : <Table.Td key="actions" />))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>{children}</Table.Tbody>
    </Table>
  )
}

const Quiet = ({ children }: { children: ReactNode }) => (
  <Text size="sm" className="quiet">
    {children}
  </Text>
)
