import { Alert, Button, Group, Modal, Stack } from '@mantine/core'
import { type FormEvent, type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useEscape } from '../lib/escape.ts'
import { useCloseLabel } from './ConfirmDialog.tsx'
import { useErrorText } from './error-text.ts'

type FormDialogProps = {
  opened: boolean
  onClose: () => void
  title: string
  /** The verb on the button. */
  submit: string
  /** A promise that is refused keeps the dialog open and shows why. */
  onSubmit: () => Promise<unknown>
  disabled?: boolean
  size?: string
  children: ReactNode
}

/** A form in a dialog; what is typed stays when the gateway refuses it. */
export function FormDialog({ opened, onClose, title, size = 'lg', ...form }: FormDialogProps) {
  useEscape(opened, onClose)
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={title}
      size={size}
      closeOnClickOutside={false}
      closeButtonProps={useCloseLabel()}
    >
      <DialogForm onClose={onClose} {...form} />
    </Modal>
  )
}

type DialogFormProps = Pick<FormDialogProps, 'onClose' | 'submit' | 'onSubmit' | 'disabled' | 'children'>

function DialogForm({ onClose, submit, onSubmit, disabled, children }: DialogFormProps) {
  const { t } = useTranslation()
  const errorText = useErrorText()
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const send = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(null)
    try {
      await onSubmit()
      onClose()
    } catch (refusal) {
      setError(refusal)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Stack component="form" onSubmit={send} gap="md">
      {children}
      {error !== null && (
        <Alert color="red" variant="light" role="alert">
          {errorText(error)}
        </Alert>
      )}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          {t('dialog.cancel')}
        </Button>
        <Button type="submit" disabled={disabled ?? false} loading={busy}>
          {submit}
        </Button>
      </Group>
    </Stack>
  )
}
