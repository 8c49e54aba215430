import { Alert, Badge, Grid, Group, Paper, Skeleton, Stack, Text, Title } from '@mantine/core'
import {
  IconAlertTriangle,
  IconBan,
  IconCircleCheck,
  IconCircleX,
  IconClock,
  IconHelpCircle,
  IconInfoCircle,
  IconLoader,
  IconParking,
  IconPlayerSkipForward,
  IconPlugConnectedX,
  IconRefresh,
  IconSend,
} from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { type ReactNode, useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { useFailureText } from '../../components/error-text.ts'
import { Page } from '../../components/Page.tsx'
import { type Status, StatusBadge } from '../../components/StatusBadge.tsx'
import { QueryState } from '../../components/states.tsx'
import { BreakableText, CopyButton, TextLink, TimeText, Tone, type ToneLook } from '../../components/values.tsx'
import { useFormat } from '../../lib/format.ts'
import { useLive } from '../../lib/live.ts'
import { auditQuery } from '../audit/query.ts'
import { EmailActions } from './EmailActions.tsx'
import { EmailMessage } from './EmailMessage.tsx'
import { BouncedBadge, subjectOf } from './EmailRow.tsx'
import classes from './emails.module.css'
import { useExplanation } from './explanation.ts'
import { type Email, emailQuery } from './queries.ts'
import { SuppressionText } from './SuppressionNotice.tsx'
import { Timeline } from './Timeline.tsx'

export const Route = createLazyRoute('/signed-in/emails/$outboxId')({ component: EmailDetail })

function EmailDetail() {
  const { t } = useTranslation('emails')
  const { outboxId } = Route.useParams()
  const query = useQuery(emailQuery(outboxId))
  const email = query.data
  const status = email?.status
  const latest = useLive()?.emails.find(email => email.outboxId === outboxId)?.status
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

const ATTEMPT_LOOKS: Record<Email['attemptList'][number]['end'], ToneLook> = {
  sent: ['blue', IconSend],
  retry: ['amber', IconRefresh],
  throttled: ['amber', IconClock],
  unconnected: ['amber', IconPlugConnectedX],
  parked: ['amber', IconParking],
  rejected: ['red', IconCircleX],
  failed: ['red', IconAlertTriangle],
  unknown: ['amber', IconHelpCircle],
  uncalled: ['grey', IconPlayerSkipForward],
  running: ['blue', IconLoader],
}
const WEBHOOK_LOOKS: Record<Email['webhooks'][number]['status'], ToneLook> = {
  waiting: ['grey', IconClock],
  delivered: ['green', IconCircleCheck],
  failed: ['red', IconCircleX],
}

const MAY_START: Email['status'][] = ['PENDING', 'PROCESSING', 'RETRY_SCHEDULED']

/** Each call of a provider, with its answer. */
function AttemptList({ email: { attemptList: attempts, status } }: { email: Email }) {
  const { t } = useTranslation('emails')
  const format = useFormat()
  const failureText = useFailureText()
  if (attempts.length === 0)
    return <Text className="quiet">{t(MAY_START.includes(status) ? 'noAttempts' : 'noAttemptsMade')}</Text>
  return (
    <Stack gap="sm" component="ol" className={classes.plainList}>
      {attempts.map(attempt => (
        <li key={attempt.startedAt}>
          <Group gap={8}>
            <strong>{t(attempt.asksAgain ? 'askedAgain' : 'attempt', { number: attempt.number })}</strong>
            <Tone look={ATTEMPT_LOOKS[attempt.end]}>{t(`ends.${attempt.end}`)}</Tone>
            <span>{attempt.provider}</span>
            <span className="quiet">
              <TimeText at={attempt.startedAt} />
              {attempt.durationMs !== null && ` · ${format.duration(attempt.durationMs / 1000)}`}
            </span>
          </Group>
          {(attempt.code || attempt.providerCode) && (
            <Text size="sm" className="mono">
              {[attempt.code, attempt.providerCode].filter(Boolean).join(' · ')}
            </Text>
          )}
          {attempt.message && (
            <Text size="sm" className="quiet">
              {failureText(attempt.code, attempt.message)}
            </Text>
          )}
          {attempt.retryInMs !== null && (
            <Text size="sm" className="quiet">
              {t('retryIn', { duration: format.duration(attempt.retryInMs / 1000) })}
            </Text>
          )}
        </li>
      ))}
    </Stack>
  )
}

/** Everybody it went to, how it ended for each, and who is suppressed now. */
function RecipientList({ email }: { email: Email }) {
  const { t } = useTranslation('emails')
  return (
    <Stack gap="sm" component="ul" className={classes.plainList}>
      {email.recipients.map((recipient, index) => (
        <li key={`${recipient.kind} ${recipient.address ?? index}`}>
          <Group gap={8}>
            <span className={classes.kind}>{t(`kinds.${recipient.kind}`)}</span>
            <span className={classes.grow}>
              {recipient.name && `${recipient.name} `}
              <span className={classes.address}>
                {recipient.address === null ? t('erased') : <BreakableText text={recipient.address} />}
              </span>
            </span>
            <StatusBadge status={recipient.suppressed ? 'SUPPRESSED' : (recipient.status as Status)} />
          </Group>
          {recipient.suppressed && (
            <Text size="sm" className="quiet">
              {t('leftOut')}
            </Text>
          )}
          {recipient.suppression && (
            <Text size="sm" component="div" className={classes.suppression}>
              <IconBan size={14} aria-hidden /> <SuppressionText entry={recipient.suppression} />
            </Text>
          )}
        </li>
      ))}
    </Stack>
  )
}

function WebhookList({ deliveries }: { deliveries: Email['webhooks'] }) {
  const { t } = useTranslation(['emails', 'webhooks'])
  if (deliveries.length === 0) return <Text className="quiet">{t('noWebhooks')}</Text>
  return (
    <Stack gap="sm" component="ul" className={classes.plainList}>
      {deliveries.map(delivery => (
        <li key={delivery.deliveryId}>
          <Group gap={8}>
            <Tone look={WEBHOOK_LOOKS[delivery.status]}>{t(`webhookStates.${delivery.status}`)}</Tone>
            <span className="mono">{delivery.type}</span>
            {delivery.lastStatus !== null && <span className="mono">{delivery.lastStatus}</span>}
            <span className="quiet">
              {t('webhookTries', { count: delivery.attempts })} ·{' '}
              <TimeText at={delivery.lastAttemptAt ?? delivery.createdAt} />
            </span>
          </Group>
          <Text size="sm">
            <TextLink
              size="sm"
              to="/webhooks/$webhookId"
              params={{ webhookId: delivery.webhookId }}
              search={{ delivery: delivery.deliveryId }}
              lineClamp={2}
              title={delivery.url}
            >
              {delivery.url}
            </TextLink>
          </Text>
          {delivery.lastError && (
            <Text size="sm" className="quiet">
              {delivery.lastError === 'ENDPOINT_DISABLED' ? t('webhooks:endpointDisabled') : delivery.lastError}
            </Text>
          )}
        </li>
      ))}
    </Stack>
  )
}

/** Ids to copy, times, and the e-mails that belong to it. */
function EmailFacts({ email }: { email: Email }) {
  const { t } = useTranslation('emails')
  const facts: [string, ReactNode][] = [
    [t('facts.id'), <Id key="id" id={email.outboxId} />],
    [t('facts.externalId'), email.externalId && <Id id={email.externalId} />],
    [t('facts.messageId'), email.messageId && <Id id={email.messageId} />],
    [t('facts.requestId'), <Id key="request" id={email.requestId} />],
    [
      t('facts.company'),
      <TextLink key="company" size="sm" to="/companies/$companyId" params={{ companyId: email.companyId }}>
        {email.companyName}
      </TextLink>,
    ],
    [t('columns.subject'), email.subject],
    [t('facts.from'), email.from],
    [t('facts.template'), email.templateType],
    [t('facts.tags'), email.tags.join(', ')],
    [t('facts.accepted'), <TimeText key="accepted" at={email.createdAt} exact />],
    [t('facts.scheduled'), email.scheduledAt && <TimeText at={email.scheduledAt} exact />],
    [t('facts.expires'), email.may.cancel && <TimeText at={email.expiresAt} exact />],
    [t('facts.attempts'), t('facts.attemptsOf', { used: attemptsMade(email), max: email.maxAttempts })],
    [t('facts.resendOf'), email.resendOf && <EmailLinks outboxIds={[email.resendOf]} />],
    [t('facts.resentAs'), email.resentAs.length > 0 && <EmailLinks outboxIds={email.resentAs} />],
  ]
  return (
    <dl className={classes.facts}>
      {facts
        .filter(([, value]) => value)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** One that was found to be wrong before its first attempt has used that one up without making it. Without its events, nobody knows. */
const attemptsMade = ({ attempts, attemptList, events }: Email) =>
  events.length > 0 && attemptList.length === 0 ? 0 : attempts

/** Whole, and broken over lines where it is long. */
const Id = ({ id }: { id: string }) => (
  <>
    <span className="mono">{id}</span> <CopyButton value={id} label={id} />
  </>
)

const EmailLinks = ({ outboxIds }: { outboxIds: string[] }) =>
  outboxIds.map(outboxId => (
    <div key={outboxId}>
      <TextLink to="/emails/$outboxId" params={{ outboxId }} size="sm" className="mono" underline="always">
        {outboxId}
      </TextLink>
    </div>
  ))
