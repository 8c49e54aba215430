import { Alert, Button, Group, Skeleton, Stack, Tabs, Text } from '@mantine/core'
import { IconDownload, IconPhotoOff } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { read, type Schemas } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { QueryState } from '../../components/states.tsx'
import { useFormat } from '../../lib/format.ts'
import { EMAIL_TABS, type EmailTab } from '../../searches.ts'
import classes from './emails.module.css'
import { contentQuery, type Email } from './queries.ts'

type Content = Schemas['AdminEmailContent']
const PATH = '/admin/emails'
const route = getRouteApi('/signed-in/emails/$outboxId')

/** What the e-mail says: as a preview that runs and loads nothing, as text, and as it is sent. */
export function EmailMessage({ email }: { email: Email }) {
  const { t } = useTranslation('emails')
  if (!useMay('support')) return <Text className="quiet">{t('message.notForViewers')}</Text>
  if (email.contentGone) return <Text className="quiet">{t('message.gone')}</Text>
  return <Message outboxId={email.outboxId} />
}

function Message({ outboxId }: { outboxId: string }) {
  const query = useQuery(contentQuery(outboxId))
  return (
    <QueryState query={query} skeleton={<Skeleton height={300} />}>
      {content => <Parts outboxId={outboxId} content={content} />}
    </QueryState>
  )
}

function Parts({ outboxId, content }: { outboxId: string; content: Content }) {
  const { t } = useTranslation('emails')
  const { tab = content.html === null ? 'text' : 'html' } = route.useSearch()
  const navigate = useNavigate({ from: '/emails/$outboxId' })
  const setTab = (next: string | null) =>
    void navigate({ search: { tab: next as EmailTab }, replace: true, resetScroll: false })
  if (content.variables)
    return (
      <Stack gap="xs">
        <Text className="quiet">{t('message.notRendered')}</Text>
        <Pre>{JSON.stringify(content.variables, null, 2)}</Pre>
      </Stack>
    )
  return (
    <Tabs value={tab} onChange={setTab} keepMounted={false}>
      <Tabs.List mb="sm">
        {EMAIL_TABS.map(name => (
          <Tabs.Tab key={name} value={name}>
            {t(`message.${name}`)}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value="html">
        {content.html === null ? (
          <Quiet>{t('message.noHtml')}</Quiet>
        ) : (
          <Preview outboxId={outboxId} content={content} />
        )}
      </Tabs.Panel>
      <Tabs.Panel value="text">
        {content.text === null ? <Quiet>{t('message.noText')}</Quiet> : <Pre>{content.text}</Pre>}
      </Tabs.Panel>
      <Tabs.Panel value="source">
        <Source outboxId={outboxId} />
      </Tabs.Panel>
      <Tabs.Panel value="headers">
        <Headers content={content} />
      </Tabs.Panel>
      <Attachments outboxId={outboxId} files={content.attachments} />
    </Tabs>
  )
}

/** The document comes with a policy of its own: no script, nothing from outside. The frame is sandboxed as well. */
function Preview({ outboxId, content }: { outboxId: string; content: Content }) {
  const { t } = useTranslation('emails')
  const [remote, setRemote] = useState(false)
  return (
    <Stack gap="xs">
      {content.hasRemoteContent && (
        <Alert variant="light" color="gray" py="xs" icon={<IconPhotoOff size={18} />}>
          <Group gap="xs" justify="space-between">
            <Text size="sm">{t(remote ? 'message.remoteShown' : 'message.blocked')}</Text>
            <Button size="compact-sm" variant="default" onClick={() => setRemote(!remote)}>
              {t(remote ? 'message.hideImages' : 'message.showImages')}
            </Button>
          </Group>
        </Alert>
      )}
      <iframe
        key={String(remote)}
        className={classes.preview}
        title={t('message.preview')}
        sandbox=""
        referrerPolicy="no-referrer"
        src={`${PATH}/${outboxId}/preview${remote ? '?images=remote' : ''}`}
      />
    </Stack>
  )
}

function Source({ outboxId }: { outboxId: string }) {
  const { t } = useTranslation('emails')
  const query = useQuery({
    ...read('/admin/emails/{outboxId}/source', { path: { outboxId } }, 'text'),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    <QueryState query={query} skeleton={<Skeleton height={300} />}>
      {source => (
        <Stack gap="xs" align="flex-start">
          <Pre>{source}</Pre>
          <Button
            component="a"
            size="compact-sm"
            variant="default"
            href={`${PATH}/${outboxId}/source`}
            download
            leftSection={<IconDownload size={14} />}
          >
            {t('message.download', { name: '.eml' })}
          </Button>
        </Stack>
      )}
    </QueryState>
  )
}

function Headers({ content }: { content: Content }) {
  const { t } = useTranslation('emails')
  const lines = [
    ...content.replyTo.map(address => `Reply-To: ${address}`),
    ...Object.entries(content.headers).map(([name, value]) => `${name}: ${value}`),
  ]
  return lines.length === 0 ? <Quiet>{t('message.noHeaders')}</Quiet> : <Pre>{lines.join('\n')}</Pre>
}

function Attachments({ outboxId, files }: { outboxId: string; files: Content['attachments'] }) {
  const { t } = useTranslation('emails')
  const format = useFormat()
  if (files.length === 0) return null
  return (
    <Stack gap={4} mt="sm" component="ul" className={classes.plainList} aria-label={t('message.attachments')}>
      {files.map(file => (
        <li key={file.ordinal}>
          <Button
            component="a"
            variant="default"
            size="compact-sm"
            href={`${PATH}/${outboxId}/attachments/${file.ordinal}`}
            download
            aria-label={t('message.download', { name: file.filename })}
            leftSection={<IconDownload size={14} />}
            maw="100%"
            title={file.filename}
            classNames={{ label: classes.filename }}
          >
            {file.filename}
          </Button>{' '}
          <span className="quiet">
            {file.contentType} · {format.bytes(file.size)}
          </span>
        </li>
      ))}
    </Stack>
  )
}

const Quiet = ({ children }: { children: ReactNode }) => <Text className="quiet">{children}</Text>

function Pre({ children }: { children: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text scrolls, which the keyboard must be able to do
    <pre className={classes.pre} tabIndex={0}>
      {children}
    </pre>
  )
}
