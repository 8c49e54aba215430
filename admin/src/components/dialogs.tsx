import {
  Alert,
  Button,
  type ButtonProps,
  Drawer,
  Group,
  Modal,
  type ModalProps,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core'
import { type FormEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type ApiProblem, isProblem } from '../api/problem.ts'
import { fieldName } from '../lib/field-problem.ts'
import { useEscape, useFocusKept } from '../lib/keyboard.ts'
import { useErrorText, useFieldProblemText } from './error-text.ts'
import { CodeBlock } from './values.tsx'

export type DialogState = { opened: boolean; onClose: () => void }

type DialogButtonProps = ButtonProps & { title?: string; dialog: (state: DialogState) => ReactNode }

/** A button and the dialog that it opens. */
export function DialogButton({ dialog, ...button }: DialogButtonProps) {
  const [opened, setOpened] = useState(false)
  return (
    <>
      <Button {...button} onClick={() => setOpened(true)} />
      {dialog({ opened, onClose: () => setOpened(false) })}
    </>
  )
}

/** The window of every dialog. */
function Dialog({ onEscape, ...props }: ModalProps & { onEscape?: () => void }) {
  useEscape(props.opened, onEscape ?? props.onClose)
  useFocusKept(props.opened)
  return <Modal returnFocus={false} closeButtonProps={useCloseLabel()} {...props} />
}

function useCloseLabel() {
  return { 'aria-label': useTranslation().t('dialog.close') }
}

type Content = ReactNode | ((errorOf: ErrorOf) => ReactNode)

type ConfirmDialogProps = DialogState & {
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
  children?: Content
}

/** A change is confirmed here: the consequence, the reason where the audit log needs one, and the verb on the button. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  return (
    <Dialog opened={props.opened} onClose={props.onClose} title={props.title}>
      <ConfirmForm {...props} />
    </Dialog>
  )
}

/** It is about reading what is changed, not about spelling: phones begin with a capital letter and end with a space. */
const isSame = (typed: string, asked: string) => typed.trim().toLowerCase() === asked.trim().toLowerCase()

/** As the gateway judges it: a full stop is no reason. */
const saysWhy = (reason: string) => (reason.match(/[\p{L}\p{N}]/gu)?.length ?? 0) >= 3

/** As the routes call it. */
const REASON_FIELDS = ['reason', 'justification']

function ConfirmForm({ consequence, askReason, typeToConfirm, childFocus, children, ...props }: ConfirmDialogProps) {
  const { t } = useTranslation()
  const [reason, setReason] = useState('')
  const [typed, setTyped] = useState('')
  const { fields = [], onConfirm } = props
  const complete = (!askReason || saysWhy(reason)) && (!typeToConfirm || isSame(typed, typeToConfirm)) && !props.blocked
  return (
    <DialogForm
      {...props}
      fields={askReason ? [...REASON_FIELDS, ...fields] : fields}
      disabled={!complete}
      // Of several lines the audit log makes one.
      onSubmit={() => onConfirm(reason.trim().replace(/\s+/g, ' '))}
    >
      {errorOf => (
        <>
          <Text size="sm" component="div">
            {consequence}
          </Text>
          {typeof children === 'function' ? children(errorOf) : children}
          {askReason && (
            <ReasonField
              label={t('dialog.reason')}
              error={REASON_FIELDS.map(errorOf).find(Boolean)}
              value={reason}
              onChange={setReason}
              required
              autoFocus={!childFocus}
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
        </>
      )}
    </DialogForm>
  )
}

type ReasonFieldProps = {
  label: string
  value: string
  onChange: (value: string) => void
  error?: string
  required?: boolean
  autoFocus?: boolean
}

export function ReasonField({ onChange, autoFocus, ...props }: ReasonFieldProps) {
  return (
    <Textarea
      {...props}
      description={useTranslation().t('dialog.reasonHint')}
      onChange={event => onChange(event.currentTarget.value)}
      withAsterisk={false}
      autosize
      minRows={2}
      maxRows={8}
      maxLength={500}
      data-autofocus={autoFocus || undefined}
    />
  )
}

type FormDialogProps = DialogState & {
  title: string
  /** The verb on the button. */
  verb: string
  /** A promise that is refused keeps the dialog open and shows why. */
  onSubmit: () => Promise<unknown>
  disabled?: boolean
  size?: string
  /** Those that `children` show the problems of. */
  fields?: readonly string[]
  children: Content
}

/** A form in a dialog; what is typed stays when the gateway refuses it. */
export function FormDialog({ opened, onClose, title, size = 'lg', ...form }: FormDialogProps) {
  return (
    <Dialog opened={opened} onClose={onClose} title={title} size={size} closeOnClickOutside={false}>
      <DialogForm onClose={onClose} {...form} />
    </Dialog>
  )
}

type DialogFormProps = Omit<FormDialogProps, 'opened' | 'title' | 'size'> & { dismiss?: string; danger?: boolean }

function DialogForm({ onClose, verb, onSubmit, disabled, fields, children, dismiss, danger }: DialogFormProps) {
  const { t } = useTranslation()
  const { form, errorOf, alert, busy, submit } = useSubmit(fields)
  const send = async () => {
    if (disabled) return
    await onSubmit()
    onClose()
  }
  return (
    <Stack component="form" ref={form} onSubmit={submit(send)} gap="md">
      {typeof children === 'function' ? children(errorOf) : children}
      {alert}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          {dismiss ?? t('dialog.cancel')}
        </Button>
        <Button type="submit" color={danger ? 'red' : 'blue'} disabled={disabled} loading={busy} maw="100%">
          <Text span inherit truncate>
            {verb}
          </Text>
        </Button>
      </Group>
    </Stack>
  )
}

/** A form that is sent to the gateway, and its refusal. */
export function useSubmit(fields?: readonly string[]) {
  const { setError, ...refusal } = useRefusal(fields)
  const [busy, setBusy] = useState(false)
  const submit = (send: () => Promise<unknown>) => async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(null)
    await send().catch(setError)
    setBusy(false)
  }
  return { ...refusal, busy, submit }
}

type SecretOnceProps = { secret: ReactNode; onClose: () => void; title: string; size?: string }

/** A secret that is shown this one time. It stays until it is closed by hand, so a click beside it does not lose it. */
export function SecretOnce({ secret, onClose, title, size }: SecretOnceProps) {
  const { t } = useTranslation()
  return (
    <Dialog
      opened={secret !== null}
      onClose={onClose}
      onEscape={() => {}}
      title={title}
      size={size}
      closeOnClickOutside={false}
    >
      {/* Neither the button that closes it nor the one behind it: Enter must not lose the secret. */}
      <Stack tabIndex={-1} data-autofocus style={{ outline: 'none' }}>
        <Text size="sm">{t('secret.once')}</Text>
        {typeof secret === 'string' ? <CodeBlock code={secret} /> : secret}
        <Button onClick={onClose}>{t('secret.done')}</Button>
      </Stack>
    </Dialog>
  )
}

type DetailsDrawerProps = DialogState & { title: string; children: ReactNode }

/** One row of a list, beside the list. Which one is in the URL. */
export function DetailsDrawer({ children, ...props }: DetailsDrawerProps) {
  useEscape(props.opened, props.onClose)
  return (
    <Drawer {...props} position="right" size="lg" lockScroll={false} closeButtonProps={useCloseLabel()}>
      {children}
    </Drawer>
  )
}

/** What is wrong with a field, for its `error`; undefined: nothing. */
export type ErrorOf = (field: string) => string | undefined

/** Refusals that are about one field and name none. */
const FIELD_OF_CODE: Record<string, string> = { COMPANY_EXISTS: 'name', TEMPLATE_EXISTS: 'type' }

const fieldOf = ({ path }: ApiProblem['errors'][number]) => fieldName(path)

/**
 * A refusal is shown at the fields that it is about, as far as the form has them (`fields`), otherwise above the buttons. The focus goes to
 * what is wrong: the button that was clicked is disabled meanwhile, and the browser would drop it out of the dialog.
 */
function useRefusal(fields: readonly string[] = []) {
  const form = useRef<HTMLDivElement>(null)
  const [error, setError] = useState<unknown>(null)
  const fieldText = useFieldProblemText()
  const errorText = useErrorText()
  useFocusOnRefusal(form, error)
  const problems = isProblem(error) ? error.errors : []
  const ofCode = isProblem(error) && problems.length === 0 ? FIELD_OF_CODE[error.code] : undefined
  const errorOf: ErrorOf = field => {
    if (field === ofCode) return errorText(error)
    const texts = problems.filter(problem => fieldOf(problem) === field).map(fieldText)
    return texts.length > 0 ? texts.join('; ') : undefined
  }
  const isShown =
    ofCode !== undefined
      ? fields.includes(ofCode)
      : problems.length > 0 && problems.every(problem => fields.includes(fieldOf(problem)))
  const alert = error !== null && !isShown && (
    <Alert color="red" variant="light" role="alert" tabIndex={-1} data-refusal>
      {errorText(error)}
    </Alert>
  )
  return { form, errorOf, alert, setError }
}

function useFocusOnRefusal(form: RefObject<HTMLElement | null>, error: unknown) {
  useEffect(() => {
    if (error === null) return
    const wrong = ['[aria-invalid="true"]:not([disabled])', '[data-refusal]']
    wrong
      .map(selector => form.current?.querySelector<HTMLElement>(selector))
      .find(Boolean)
      ?.focus()
  }, [form, error])
}
