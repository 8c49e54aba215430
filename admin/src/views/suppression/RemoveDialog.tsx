import { useQueryClient } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { notify } from '../../components/notify.ts'
import { forgetAnswers, type History, removeEntry } from './data.ts'

type RemoveDialogProps = { entry: History['entries'][number]; onClose: () => void }

export function RemoveDialog({ entry, onClose }: RemoveDialogProps) {
  const { t } = useTranslation('suppression')
  const client = useQueryClient()
  const remove = async (justification: string) => {
    await removeEntry(entry, justification)
    notify.done(t('remove.done'))
    await forgetAnswers(client)
  }
  return (
    <ConfirmDialog
      opened
      onClose={onClose}
      title={t('remove.title')}
      verb={t('remove.button')}
      danger
      consequence={t(entry.companyId ? 'remove.consequenceCompany' : 'remove.consequence')}
      askReason
      onConfirm={remove}
    />
  )
}
