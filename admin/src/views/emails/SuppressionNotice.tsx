import { Alert, List } from '@mantine/core'
import { IconBan, IconCircleCheck } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { TextLink } from '../../components/values.tsx'
import { useFormat } from '../../lib/format.ts'
import type { Suppression } from './queries.ts'

/** Beside the e-mails of an address: whether the list stops mail to it. */
export function SuppressionNotice({ entries, emails }: { entries: Suppression[]; emails: number }) {
  const { t } = useTranslation('emails')
  if (entries.length === 0)
    return emails === 0 ? (
      <Alert variant="light" color="gray" icon={<IconCircleCheck size={18} />}>
        {t('suppression.never')}
      </Alert>
    ) : null
  return (
    <Alert variant="light" color="red" icon={<IconBan size={18} />} title={t('suppression.title')} role="status">
      <List size="sm">
        {entries.map(entry => (
          <List.Item key={entry.companyId ?? 'global'}>
            <SuppressionText entry={entry} />
          </List.Item>
        ))}
      </List>
    </Alert>
  )
}

/** Why, since when, until when; and the way to the entry, where it can be removed. */
export function SuppressionText({ entry }: { entry: Suppression }) {
  const { t } = useTranslation('emails')
  const format = useFormat()
  const { emailHash, companyId, companyName, reason, addedAt, expiresAt } = entry
  return (
    <>
      {t(`suppression.reasons.${reason}`)}
      {'; '}
      {t('suppression.since', { time: format.dateTime(addedAt) })}
      {', '}
      {expiresAt ? t('suppression.until', { time: format.date(expiresAt) }) : t('suppression.forEver')}
      {', '}
      {companyId ? t('suppression.ofCompany', { name: companyName }) : t('suppression.global')}.{' '}
      <TextLink size="sm" underline="always" to="/suppression" search={{ open: emailHash }}>
        {t('suppression.open')}
      </TextLink>
    </>
  )
}
