import { Button, Modal, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useEscape } from '../lib/escape.ts'
import { useFocusKept } from '../lib/keep-focus.ts'
import { CodeBlock } from './CodeBlock.tsx'
import { useCloseLabel } from './ConfirmDialog.tsx'

/** A secret that is shown this one time. It stays until it is closed by hand, so a click beside it does not lose it. */
export function SecretOnce({ secret, onClose, title }: { secret: string | null; onClose: () => void; title?: string }) {
  const { t } = useTranslation()
  useEscape(secret !== null, () => {})
  useFocusKept(secret !== null)
  return (
    <Modal
      opened={secret !== null}
      onClose={onClose}
      title={title ?? t('secret.title')}
      closeOnClickOutside={false}
      returnFocus={false}
      closeButtonProps={useCloseLabel()}
    >
      {/* Neither the button that closes it nor the one behind it: Enter must not lose the secret. */}
      <Stack tabIndex={-1} data-autofocus style={{ outline: 'none' }}>
        <Text size="sm">{t('secret.once')}</Text>
        <CodeBlock code={secret ?? ''} />
        <Button onClick={onClose}>{t('secret.done')}</Button>
      </Stack>
    </Modal>
  )
}
