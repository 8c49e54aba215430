import { Group, Stack, Text } from '@mantine/core'
import { IconBan } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { BreakableText } from '../../components/BreakableText.tsx'
import { useFailureText } from '../../components/error-text.ts'
import { TextLink } from '../../components/links.tsx'
import { type Status, StatusBadge } from '../../components/StatusBadge.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import { Tone, type ToneName } from '../../components/Tone.tsx'
import { useFormat } from '../../lib/format.ts'
import classes from './emails.module.css'
import { ATTEMPT_ICONS, WEBHOOK_ICONS } from './icons.ts'
import type { Email } from './queries.ts'
import { SuppressionText } from './SuppressionNotice.tsx'

const ATTEMPT_TONES: Record<Email['attemptList'][number]['end'], ToneName> = {
  sent: 'blue',
  retry: 'amber',
  throttled: 'amber',
  unconnected: 'amber',
  parked: 'amber',
  rejected: 'red',
  failed: 'red',
  unknown: 'amber',
  uncalled: 'grey',
  running: 'blue',
}
const WEBHOOK_TONES: Record<Email['webhooks'][number]['status'], ToneName> = {
  waiting: 'grey',
  delivered: 'green',
  failed: 'red',
}

const MAY_START: Email['status'][] = ['PENDING', 'PROCESSING', 'RETRY_SCHEDULED']

/** Each call of a provider, with its answer. */
export function AttemptList({ email: { attemptList: attempts, status } }: { email: Email }) {
  const { t } = useTranslation('emails')
  const format = useFormat()
  const failureText = useFailureText()
  if (attempts.length === 0)
    return <Text className="quiet">{t(MAY_START.includes(status) ? 'noAttempts' : 'noAttemptsMade')}</Text>
  return (
    <Stack gap="sm" component="ol" className={classes.plainList}>
      {attempts.map(one => (
        <li key={one.startedAt}>
          <Group gap={8}>
            <strong>{t(one.asksAgain ? 'askedAgain' : 'attempt', { number: one.number })}</strong>
            <Tone tone={ATTEMPT_TONES[one.end]} icon={ATTEMPT_ICONS[one.end]}>
              {t(`ends.${one.end}`)}
            </Tone>
            <span>{one.provider}</span>
            <span className="quiet">
              <TimeText at={one.startedAt} />
              {one.durationMs !== null && ` · ${format.duration(one.durationMs / 1000)}`}
            </span>
          </Group>
          {(one.code || one.providerCode) && (
            <Text size="sm" className="mono">
              {[one.code, one.providerCode].filter(Boolean).join(' · ')}
            </Text>
          )}
          {one.message && (
            <Text size="sm" className="quiet">
              {failureText(one.code, one.message)}
            </Text>
          )}
          {one.retryInMs !== null && (
            <Text size="sm" className="quiet">
              {t('retryIn', { duration: format.duration(one.retryInMs / 1000) })}
            </Text>
          )}
        </li>
      ))}
    </Stack>
  )
}

/** Everybody it went to, how it ended for each, and who is suppressed now. */
export function RecipientList({ email }: { email: Email }) {
  const { t } = useTranslation('emails')
  return (
    <Stack gap="sm" component="ul" className={classes.plainList}>
      {email.recipients.map((one, index) => (
        <li key={`${one.kind} ${one.address ?? index}`}>
          <Group gap={8}>
            <span className={classes.kind}>{t(`kinds.${one.kind}`)}</span>
            <span className={classes.grow}>
              {one.name && `${one.name} `}
              <span className={classes.address}>
                {one.address === null ? t('erased') : <BreakableText text={one.address} />}
              </span>
            </span>
            <StatusBadge status={one.suppressed ? 'SUPPRESSED' : (one.status as Status)} />
          </Group>
          {one.suppressed && (
            <Text size="sm" className="quiet">
              {t('leftOut')}
            </Text>
          )}
          {one.suppression && (
            <Text size="sm" component="div" className={classes.suppression}>
              <IconBan size={14} aria-hidden /> <SuppressionText entry={one.suppression} />
            </Text>
          )}
        </li>
      ))}
    </Stack>
  )
}

export function WebhookList({ deliveries }: { deliveries: Email['webhooks'] }) {
  const { t } = useTranslation(['emails', 'webhooks'])
  if (deliveries.length === 0) return <Text className="quiet">{t('noWebhooks')}</Text>
  return (
    <Stack gap="sm" component="ul" className={classes.plainList}>
      {deliveries.map(one => (
        <li key={one.deliveryId}>
          <Group gap={8}>
            <Tone tone={WEBHOOK_TONES[one.status]} icon={WEBHOOK_ICONS[one.status]}>
              {t(`webhookStates.${one.status}`)}
            </Tone>
            <span className="mono">{one.type}</span>
            {one.lastStatus !== null && <span className="mono">{one.lastStatus}</span>}
            <span className="quiet">
              {t('webhookTries', { count: one.attempts })} · <TimeText at={one.lastAttemptAt ?? one.createdAt} />
            </span>
          </Group>
          <Text size="sm">
            <TextLink
              size="sm"
              to="/webhooks/$webhookId"
              params={{ webhookId: one.webhookId }}
              search={{ delivery: one.deliveryId }}
              lineClamp={2}
              title={one.url}
            >
              {one.url}
            </TextLink>
          </Text>
          {one.lastError && (
            <Text size="sm" className="quiet">
              {one.lastError === 'ENDPOINT_DISABLED' ? t('webhooks:endpointDisabled') : one.lastError}
            </Text>
          )}
        </li>
      ))}
    </Stack>
  )
}
