import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { IdText } from '../../components/IdText.tsx'
import { TextLink } from '../../components/links.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import classes from './emails.module.css'
import type { Email } from './queries.ts'

/** Ids to copy, times, and the e-mails that belong to it. */
export function EmailFacts({ email }: { email: Email }) {
  const { t } = useTranslation('emails')
  const facts: [string, ReactNode][] = [
    [t('facts.id'), <IdText key="id" id={email.outboxId} whole />],
    [t('facts.externalId'), email.externalId && <IdText id={email.externalId} whole />],
    [t('facts.messageId'), email.messageId && <IdText id={email.messageId} whole />],
    [t('facts.requestId'), <IdText key="request" id={email.requestId} whole />],
    [
      t('facts.company'),
      <TextLink key="company" to="/companies/$companyId" params={{ companyId: email.companyId }}>
        {email.companyName}
      </TextLink>,
    ],
    [t('facts.from'), email.from],
    [t('facts.template'), email.templateType],
    [t('facts.tags'), email.tags.join(', ')],
    [t('facts.accepted'), <TimeText key="accepted" at={email.createdAt} exact />],
    [t('facts.scheduled'), email.scheduledAt && <TimeText at={email.scheduledAt} exact />],
    [t('facts.expires'), email.may.cancel && <TimeText at={email.expiresAt} exact />],
    [t('facts.attempts'), t('facts.attemptsOf', { used: email.attempts, max: email.maxAttempts })],
    [t('facts.resendOf'), email.resendOf && <EmailLink outboxId={email.resendOf} />],
    [
      t('facts.resentAs'),
      email.resentAs.length > 0 && email.resentAs.map(outboxId => <EmailLink key={outboxId} outboxId={outboxId} />),
    ],
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

const EmailLink = ({ outboxId }: { outboxId: string }) => (
  <div>
    <TextLink to="/emails/$outboxId" params={{ outboxId }} className="mono">
      {outboxId}
    </TextLink>
  </div>
)
