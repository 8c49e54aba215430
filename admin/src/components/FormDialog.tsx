import { Button, Group, Modal, Stack } from '@mantine/core'
import { type FormEvent, type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useEscape } from '../lib/escape.ts'
import { useFocusKept } from '../lib/keep-focus.ts'
import { useCloseLabel } from './ConfirmDialog.tsx'
import { type ErrorOf, useRefusal } from './refusal.tsx'

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
  /** Those that `children` show the problems of. */
  fields?: readonly string[]
  children: ReactNode | ((errorOf: ErrorOf) => ReactNode)
}

/** A form in a dialog; what is typed stays when the gateway refuses it. */
export function FormDialog({ opened, onClose, title, size = 'lg', ...form }: FormDialogProps) {
  useEscape(opened, onClose)
  useFocusKept(opened)
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={title}
      size={size}
      closeOnClickOutside={false}
      returnFocus={false}
      closeButtonProps={useCloseLabel()}
    >
      <DialogForm onClose={onClose} {...form} />
    </Modal>
  )
}

type DialogFormProps = Pick<FormDialogProps, 'onClose' | 'submit' | 'onSubmit' | 'disabled' | 'fields' | 'children'>

function DialogForm({ onClose, submit, onSubmit, disabled, fields, children }: DialogFormProps) {
  const { t } = useTranslation()
  const { form, errorOf, alert, setError } = useRefusal(fields)
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
    <Stack component="form" ref={form} onSubmit={send} gap="md">
      {typeof children === 'function' ? children(errorOf) : children}
      {alert}
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
