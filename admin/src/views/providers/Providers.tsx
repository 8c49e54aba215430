import { createLazyRoute } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { BeingBuilt } from '../../components/BeingBuilt.tsx'
import { Page } from '../../components/Page.tsx'

export const Route = createLazyRoute('/signed-in/providers')({ component: Providers })

function Providers() {
  const { t } = useTranslation('providers')
  return (
    <Page title={t('title')}>
      <BeingBuilt />
    </Page>
  )
}
