import { createLazyRoute } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { BeingBuilt } from '../../components/BeingBuilt.tsx'
import { Page } from '../../components/Page.tsx'

export const Route = createLazyRoute('/signed-in/companies/$companyId')({ component: Company })

function Company() {
  const { t } = useTranslation('companies')
  return (
    <Page title={t('title')}>
      <BeingBuilt />
    </Page>
  )
}
