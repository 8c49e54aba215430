import { Alert, Anchor, Button, Group, Skeleton, Stack, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CodeBlock } from '../../components/CodeBlock.tsx'
import { CopyButton } from '../../components/CopyButton.tsx'
import { QueryState } from '../../components/QueryState.tsx'
import { useFormat } from '../../lib/format.ts'
import classes from './Inbox.module.css'
import { type CapturedMessage, fileUrl, sourceQuery } from './queries.ts'

/** The frame runs nothing, by its sandbox and by the policy of what it shows. */
export function HtmlPart({ captured }: { captured: CapturedMessage }) {
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

export function TextPart({ text }: { text: string | null }) {
  const { t } = useTranslation('inbox')
  return text ? <pre className={classes.pre}>{text}</pre> : <Quiet>{t('noText')}</Quiet>
}

export function Source({ messageId }: { messageId: string }) {
  const { t } = useTranslation('inbox')
  const query = useQuery(sourceQuery(messageId))
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

export function Headers({ captured: { message, messageId } }: { captured: CapturedMessage }) {
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

export function Attachments({ captured: { message, messageId } }: { captured: CapturedMessage }) {
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
export function Links({ links }: { links: CapturedMessage['links'] }) {
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
