import { Alert, Badge, Grid, Group, Paper, Skeleton, Stack, Text, Title } from '@mantine/core'
import { IconInfoCircle } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { type ReactNode, useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { TextLink } from '../../components/links.tsx'
import { Page } from '../../components/Page.tsx'
import { QueryState } from '../../components/QueryState.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { useFormat } from '../../lib/format.ts'
import { useLive } from '../../lib/live.ts'
import { auditQuery } from '../audit/data.ts'
import { BouncedBadge } from './Bounced.tsx'
import { EmailActions } from './EmailActions.tsx'
import { EmailFacts, EmailLinks } from './EmailFacts.tsx'
import { AttemptList, RecipientList, WebhookList } from './EmailLists.tsx'
import { EmailMessage } from './EmailMessage.tsx'
import { subjectOf } from './email-columns.tsx'
import { useExplanation } from './explanation.ts'
import { type Email, emailQuery } from './queries.ts'
import { Timeline } from './Timeline.tsx'

export const Route = createLazyRoute('/signed-in/emails/$outboxId')({ component: EmailDetail })

function EmailDetail() {
  const { t } = useTranslation('emails')
  const { outboxId } = Route.useParams()
  const query = useQuery(emailQuery(outboxId))
  const email = query.data
  const status = email?.status
  const latest = useLive()?.emails.find(one => one.outboxId === outboxId)?.status
  const { refetch } = query
  useEffect(() => {
    if (status && latest && latest !== status) void refetch()
  }, [status, latest, refetch])
  return (
    <Page
      title={(email && subjectOf(email)) ?? t('title')}
      back={{ to: '/emails', label: t('back') }}
      subtitle={email && <Subtitle email={email} />}
      actions={email && <EmailActions email={email} />}
    >
      <QueryState query={query} skeleton={<DetailSkeleton />}>
        {data => <Details email={data} />}
      </QueryState>
    </Page>
  )
}

function Subtitle({ email }: { email: Email }) {
  const { t } = useTranslation('emails')
  const format = useFormat()
  const words = [
    email.to[0] ?? t('erased'),
    email.companyName,
    ...(email.provider ? [t('subtitle.via', { provider: email.provider })] : []),
    ...(email.durationMs === null ? [] : [t('subtitle.in', { duration: format.duration(email.durationMs / 1000) })]),
  ]
  return (
    <Group gap={8} mt={4}>
      <StatusBadge status={email.status} />
      <BouncedBadge email={email} />
      {email.test && (
        <Badge size="sm" variant="default">
          {t('test')}
        </Badge>
      )}
      <span>{words.join(' · ')}</span>
    </Group>
  )
}

function Details({ email }: { email: Email }) {
  const { t } = useTranslation('emails')
  const { summary, next } = useExplanation(email)
  return (
    <Stack gap="md">
      <Alert
        variant="light"
        color="gray"
        icon={<IconInfoCircle size={18} />}
        styles={{ message: { color: 'inherit' } }}
      >
        {/* What a provider said is whole in the timeline. */}
        <Text size="sm" lineClamp={6} title={summary}>
          {summary}
        </Text>
        {next && (
          <Text size="sm" className="quiet">
            {t('next', { text: next })}
          </Text>
        )}
        {email.status === 'CANCELLED' && <CancelReason outboxId={email.outboxId} />}
        {email.resendOf && (
          <Text size="sm" component="div">
            {t('facts.resendOf')} <EmailLinks outboxIds={[email.resendOf]} />
          </Text>
        )}
        {email.resentAs.length > 0 && (
          <Text size="sm" component="div">
            {t('facts.resentAs')} <EmailLinks outboxIds={email.resentAs} />
          </Text>
        )}
      </Alert>
      <Grid gap="md">
        <Grid.Col span={{ base: 12, md: 5 }}>
          <Stack gap="md">
            <Section title={t('whatHappened')}>
              <Timeline events={email.events} attempts={email.attemptList} recipients={email.recipients} />
            </Section>
            <Section title={t('recipients')}>
              <RecipientList email={email} />
            </Section>
            <Section title={t('facts.title')}>
              <EmailFacts email={email} />
            </Section>
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 7 }}>
          <Stack gap="md">
            <Section title={t('message.title')}>
              <EmailMessage email={email} />
            </Section>
            <Section title={t('attempts')}>
              <AttemptList email={email} />
            </Section>
            <Section title={t('webhooks')}>
              <WebhookList deliveries={email.webhooks} />
            </Section>
          </Stack>
        </Grid.Col>
      </Grid>
    </Stack>
  )
}

/** The reason is in the audit log, where the whole change is. */
function CancelReason({ outboxId }: { outboxId: string }) {
  const { t } = useTranslation('emails')
  const search = { subjectType: 'email', subjectId: outboxId, action: 'CANCELLED', actor: 'any' }
  const [entry] = useQuery(auditQuery(search)).data?.data ?? []
  if (!entry) return null
  return (
    <Text size="sm" component="div">
      {entry.reason ? t('cancelReason', { reason: entry.reason }) : t('cancelNoReason')}{' '}
      <TextLink size="sm" to="/audit" search={{ ...search, open: entry.id }}>
        {t('cancelEntry')}
      </TextLink>
    </Text>
  )
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Title order={2} size="h5" mb="sm">
        {title}
      </Title>
      {children}
    </Paper>
  )
}

function DetailSkeleton() {
  return (
    <Stack gap="md">
      <Skeleton height={56} />
      <Grid gap="md">
        <Grid.Col span={{ base: 12, md: 5 }}>
          <Skeleton height={360} />
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 7 }}>
          <Skeleton height={360} />
        </Grid.Col>
      </Grid>
    </Stack>
  )
}
