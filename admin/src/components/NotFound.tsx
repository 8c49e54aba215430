import { useTranslation } from 'react-i18next'
import { EmptyState } from './EmptyState.tsx'
import { ButtonLink } from './links.tsx'
import { Page } from './Page.tsx'

export function NotFound() {
  const { t } = useTranslation()
  return (
    <Page title={t('errors.notFoundTitle')}>
      <EmptyState title={t('errors.notFound')}>
        <div>
          <ButtonLink to="/" variant="default">
            {t('errors.home')}
          </ButtonLink>
        </div>
      </EmptyState>
    </Page>
  )
}
