import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { CopyButton } from '../../components/CopyButton.tsx'
import { TextLink } from '../../components/links.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import classes from './emails.module.css'
import type { Email } from './queries.ts'

/** Ids to copy, times, and the e-mails that belong to it. */
export function EmailFacts({ email }: { email: Email }) {
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

export const EmailLinks = ({ outboxIds }: { outboxIds: string[] }) =>
  outboxIds.map(outboxId => (
    <div key={outboxId}>
      <TextLink to="/emails/$outboxId" params={{ outboxId }} size="sm" className="mono" underline="always">
        {outboxId}
      </TextLink>
    </div>
  ))
