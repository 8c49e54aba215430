import { Badge } from '@mantine/core'
import { IconMailX } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import type { Column } from '../../components/table.tsx'
import { IdText, TextLink, TimeText, Tone } from '../../components/values.tsx'
import classes from './emails.module.css'
import type { EmailRow } from './queries.ts'

export function useColumns(): Column<EmailRow>[] {
  const { t } = useTranslation('emails')
  return [
    {
      key: 'status',
      header: t('columns.status'),
      cell: row => (
        <span className={classes.statuses}>
          <StatusBadge status={row.status} />
          <BouncedBadge email={row} />
        </span>
      ),
    },
    {
      key: 'subject',
      header: t('columns.subject'),
      wide: true,
      cell: row => (
        <>
          <TextLink
            to="/emails/$outboxId"
            params={{ outboxId: row.outboxId }}
            size="sm"
            className={classes.clamped}
            title={subjectOf(row) ?? undefined}
          >
            {subjectOf(row) ?? t('noSubject')}
          </TextLink>
          {row.test && (
            <Badge size="xs" variant="default" ml={6}>
              {t('test')}
            </Badge>
          )}
        </>
      ),
    },
    {
      key: 'to',
      header: t('columns.to'),
      wide: true,
      cell: ({ to, cc, bcc }) => (
        <span className={classes.recipients}>
          <span className={classes.recipient} title={to[0]}>
            {to[0] ?? '–'}
          </span>
          {to.length + cc.length + bcc.length > 1 && (
            <span className="quiet nowrap">+{to.length + cc.length + bcc.length - 1}</span>
          )}
        </span>
      ),
    },
    {
      key: 'company',
      header: t('columns.company'),
      cell: ({ companyName }) => (
        <span className={classes.company} title={companyName}>
          {companyName}
        </span>
      ),
    },
    {
      key: 'accepted',
      header: t('columns.accepted'),
      cell: ({ createdAt }) => (
        <span className={classes.time}>
          <TimeText at={createdAt} />
        </span>
      ),
    },
    { key: 'id', header: t('columns.id'), cell: ({ outboxId }) => <IdText id={outboxId} /> },
  ]
}

export const subjectOf = ({ subject, templateType }: Pick<EmailRow, 'subject' | 'templateType'>) =>
  subject || templateType || null

type Bounced = Pick<EmailRow, 'bounced' | 'to' | 'cc' | 'bcc'>

/** How many bounced, of those that got a copy; null: none, or all, which the status says. */
export function bouncedOf({ bounced, to, cc, bcc }: Bounced): { count: number; of: number } | null {
  const of = to.length + cc.length + bcc.length
  return bounced === 0 || bounced >= of ? null : { count: bounced, of }
}

/** Beside the status of an e-mail, which is that of its first recipient. */
export function BouncedBadge({ email }: { email: Bounced }) {
  const { t } = useTranslation('emails')
  const some = bouncedOf(email)
  if (!some) return null
  return <Tone look={['red', IconMailX]}>{t('someBounced', some)}</Tone>
}
