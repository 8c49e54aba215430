import { Button, Group, Modal, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { type FormEvent, type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useEscape } from '../lib/escape.ts'
import { useFocusKept } from '../lib/keep-focus.ts'
import { type ErrorOf, useRefusal } from './refusal.tsx'

type ConfirmDialogProps = {
  opened: boolean
  onClose: () => void
  title: string
  /** The verb and its object: "Pause acme". */
  verb: string
  /** What happens then. */
  consequence: ReactNode
  /** In place of "Cancel", where that is the verb. */
  dismiss?: string
  danger?: boolean
  /** Asks for a reason, which goes to the audit log. */
  askReason?: boolean
  /** Asks to type this text, for what cannot be undone. */
  typeToConfirm?: string
  /** The first of the `children` has the focus, and not the reason. */
  childFocus?: boolean
  /** It cannot be done as it is; `children` say why. */
  blocked?: boolean
  /** A promise that is refused keeps the dialog open and shows why. */
  onConfirm: (reason: string) => Promise<unknown>
  /** Those that `children` show the problems of. */
  fields?: readonly string[]
  children?: ReactNode | ((errorOf: ErrorOf) => ReactNode)
}

/** A change is confirmed here: the consequence, the reason where the audit log needs one, and the verb on the button. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { opened, onClose } = props
  useEscape(opened, onClose)
  useFocusKept(opened)
  return (
    <Modal
      opened={props.opened}
      onClose={props.onClose}
      title={props.title}
      returnFocus={false}
      closeButtonProps={useCloseLabel()}
    >
      <ConfirmForm {...props} />
    </Modal>
  )
}

/** It is about reading what is changed, not about spelling: phones begin with a capital letter and end with a space. */
const isSame = (typed: string, asked: string) => typed.trim().toLowerCase() === asked.trim().toLowerCase()

export function useCloseLabel() {
  return { 'aria-label': useTranslation().t('dialog.close') }
}

/** As the gateway judges it: a full stop is no reason. */
const saysWhy = (reason: string) => (reason.match(/[\p{L}\p{N}]/gu)?.length ?? 0) >= 3

/** As the routes call it. */
const REASON_FIELDS = ['reason', 'justification']

function ConfirmForm({
  onClose,
  verb,
  consequence,
  danger,
  askReason,
  typeToConfirm,
  blocked,
  childFocus = false,
  fields = [],
  ...props
}: ConfirmDialogProps) {
  const { t } = useTranslation()
  const [reason, setReason] = useState('')
  const [typed, setTyped] = useState('')
  const { form, errorOf, alert, setError } = useRefusal(askReason ? [...REASON_FIELDS, ...fields] : fields)
  const [busy, setBusy] = useState(false)
  const hasReason = !askReason || saysWhy(reason)
  const complete = hasReason && (!typeToConfirm || isSame(typed, typeToConfirm)) && !blocked
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!complete) return
    setBusy(true)
    setError(null)
    try {
      // Of several lines the audit log makes one.
      await props.onConfirm(reason.trim().replace(/\s+/g, ' '))
      onClose()
    } catch (refusal) {
      setError(refusal)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Stack component="form" ref={form} onSubmit={submit} gap="md">
      <Text size="sm" component="div">
        {consequence}
      </Text>
      {typeof props.children === 'function' ? props.children(errorOf) : props.children}
      {askReason && (
        <Textarea
          label={t('dialog.reason')}
          description={t('dialog.reasonHint')}
          error={REASON_FIELDS.map(errorOf).find(Boolean)}
          value={reason}
          onChange={event => setReason(event.currentTarget.value)}
          required
          withAsterisk={false}
          autosize
          minRows={2}
          maxRows={8}
          maxLength={500}
          data-autofocus={!childFocus || undefined}
        />
      )}
      {typeToConfirm && (
        <TextInput
          label={t('dialog.typeName', { name: typeToConfirm })}
          value={typed}
          onChange={event => setTyped(event.currentTarget.value)}
          autoComplete="off"
        />
      )}
      {alert}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          {props.dismiss ?? t('dialog.cancel')}
        </Button>
        <Button type="submit" color={danger ? 'red' : 'blue'} disabled={!complete} loading={busy} maw="100%">
          <Text span inherit truncate>
            {verb}
          </Text>
        </Button>
      </Group>
    </Stack>
  )
}
