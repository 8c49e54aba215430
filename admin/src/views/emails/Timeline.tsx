import { Button, Text } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useFailureText } from '../../components/error-text.ts'
import { useEventWords } from '../../components/event-words.ts'
import type { ToneName } from '../../components/values.tsx'
import { BreakableText, TimeText } from '../../components/values.tsx'
import { useFormat } from '../../lib/format.ts'
import type { Email } from './queries.ts'
import classes from './timeline.module.css'

type Event = Email['events'][number]
type Attempt = Email['attemptList'][number]

const TONES: Record<Event['type'], ToneName> = {
  QUEUED: 'grey',
  RECEIVED: 'grey',
  VALIDATED: 'grey',
  VALIDATION_FAILED: 'red',
  SENT_ATTEMPT: 'blue',
  SENT: 'blue',
  FAILED: 'red',
  RETRY_SCHEDULED: 'amber',
  DELIVERED: 'green',
  BOUNCE: 'red',
  COMPLAINT: 'violet',
  REJECTED: 'red',
  DLQ_MOVED: 'red',
  EXPIRED: 'red',
  CANCELLED: 'grey',
  REPLAYED: 'blue',
  UNKNOWN: 'amber',
  RESOLVED: 'blue',
}
/** Steps inside of the gateway, which few readers look for. */
const INNER: Event['type'][] = ['RECEIVED', 'VALIDATED']

type TimelineProps = { events: Event[]; attempts: Attempt[]; recipients: Email['recipients'] }

/** The events of an e-mail as a picture: one dot each, oldest first. */
export function Timeline({ events, attempts, recipients }: TimelineProps) {
  const { t } = useTranslation('emails')
  const [all, setAll] = useState(false)
  const inner = events.filter(({ type }) => INNER.includes(type)).length
  const shown = events.filter(({ type }) => all || !INNER.includes(type))
  const attemptAt = (index: number) => attemptOf(shown, index, attempts)
  // With one recipient there is no question whom it was about.
  const aboutOf = ({ recipient }: Event) =>
    recipient === null || recipients.length < 2 ? null : (recipients[recipient]?.address ?? null)
  return (
    <>
      <ol className={classes.line}>
        {shown.map((event, index) => (
          <Step
            // biome-ignore lint/suspicious/noArrayIndexKey: the log is only appended to, and two events may have the same time
            key={`${event.createdAt} ${event.type} ${index}`}
            event={event}
            attempt={attemptAt(index)}
            about={aboutOf(event)}
          />
        ))}
      </ol>
      {inner > 0 && (
        <Button size="compact-xs" variant="subtle" onClick={() => setAll(!all)}>
          {t(all ? 'showLess' : 'showAll')}
        </Button>
      )}
    </>
  )
}

/** Each SENT_ATTEMPT has an entry in the list of attempts, in the same order. */
function attemptOf(events: Event[], index: number, attempts: Attempt[]): Attempt | undefined {
  if (events[index]?.type !== 'SENT_ATTEMPT') return undefined
  return attempts[events.slice(0, index).filter(({ type }) => type === 'SENT_ATTEMPT').length]
}

function Step({ event, attempt, about }: { event: Event; attempt: Attempt | undefined; about: string | null }) {
  const { t } = useTranslation('emails')
  const details = useDetails(event)
  return (
    <li className={classes.step} data-tone={TONES[event.type]}>
      <div className={classes.head}>
        <strong>
          {attempt
            ? t(attempt.asksAgain ? 'askedAgain' : 'attempt', { number: attempt.number })
            : t(`events.${event.type}`)}
        </strong>
        <span className={classes.time}>
          <TimeText at={event.createdAt} exact />
        </span>
      </div>
      {about !== null && (
        <div className={classes.detail}>
          <BreakableText text={about} />
        </div>
      )}
      {details.map(detail => (
        // Whole under the attempts.
        <Text key={detail} inherit component="div" className={classes.detail} lineClamp={6} title={detail}>
          {detail}
        </Text>
      ))}
    </li>
  )
}

/** What the event says, as text: providers and receivers wrote some of it. */
function useDetails({ type, metadata }: Event): string[] {
  const { t } = useTranslation('emails')
  const resolvedBy = t('resolvedBy', { returnObjects: true }) as Record<string, string>
  const format = useFormat()
  const words = useEventWords()
  const failureText = useFailureText()
  const text = (name: string) => (typeof metadata[name] === 'string' && metadata[name] !== '' ? metadata[name] : null)
  const code = text('errorCode') ?? text('lastErrorCode')
  const codes = [code, text('providerCode')].filter(Boolean).join(' · ')
  const said = text('errorMessage') ?? text('lastError') ?? text('reason')
  const delay = metadata.backoffDelay
  return [
    type === 'RESOLVED' ? (resolvedBy[text('by') ?? ''] ?? text('by')) : null,
    text('provider'),
    codes,
    said && failureText(code, said),
    [words.bounceType(text('bounceType') ?? ''), words.bounceSubType(text('bounceSubType') ?? '')]
      .filter(Boolean)
      .join(' / '),
    text('diagnosticCode') ?? text('smtpResponse'),
    text('messageId'),
    text('cancelledBy') && words.by(text('cancelledBy')!),
    typeof delay === 'number' ? t('retryIn', { duration: format.duration(delay / 1000) }) : null,
  ].filter((line): line is string => Boolean(line))
}
