import { useTranslation } from 'react-i18next'
import { EmptyState } from './EmptyState.tsx'

export const BeingBuilt = () => <EmptyState title={useTranslation().t('beingBuilt')} />
