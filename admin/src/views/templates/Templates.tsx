import { createLazyRoute } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { BeingBuilt } from '../../components/BeingBuilt.tsx'
import { Page } from '../../components/Page.tsx'

export const Route = createLazyRoute('/signed-in/templates')({ component: Templates })

function Templates() {
  const { t } = useTranslation('templates')
  return (
    <Page title={t('title')}>
      <BeingBuilt />
    </Page>
  )
}
