import { Badge } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { Column } from '../../components/DataTable.tsx'
import { IdText } from '../../components/IdText.tsx'
import { TextLink } from '../../components/links.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import { BouncedBadge } from './Bounced.tsx'
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
