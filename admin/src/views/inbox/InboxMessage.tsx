import { createLazyRoute } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { BeingBuilt } from '../../components/BeingBuilt.tsx'
import { Page } from '../../components/Page.tsx'

export const Route = createLazyRoute('/signed-in/inbox/$messageId')({ component: InboxMessage })

function InboxMessage() {
  const { t } = useTranslation('inbox')
  return (
    <Page title={t('title')}>
      <BeingBuilt />
    </Page>
  )
}
