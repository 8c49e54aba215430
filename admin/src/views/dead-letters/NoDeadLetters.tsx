import { useTranslation } from 'react-i18next'
import { EmptyState } from '../../components/EmptyState.tsx'
import type { DeadLetterSearch } from './routes.ts'

/** There are none, or none that the filters let through. */
export function NoDeadLetters({ search: { code, company, range } }: { search: DeadLetterSearch }) {
  const { t } = useTranslation('deadLetters')
  return code || company || range ? (
    <EmptyState title={t('empty.noneMatch')} hint={t('empty.noneMatchHint')} />
  ) : (
    <EmptyState title={t('empty.title')} hint={t('empty.hint')} />
  )
}
