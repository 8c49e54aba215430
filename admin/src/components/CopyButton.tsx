import { ActionIcon, CopyButton as Copying, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'

/** `label` says what is copied, for screen readers. */
export function CopyButton({ value, label }: { value: string; label?: string }) {
  const { t } = useTranslation()
  return (
    <Copying value={value} timeout={1_500}>
      {({ copied, copy }) => (
        <Tooltip label={t(copied ? 'copy.copied' : 'copy.copy')}>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            aria-label={label ? `${t('copy.copy')}: ${label}` : t('copy.copy')}
            onClick={event => {
              event.stopPropagation()
              copy()
            }}
          >
            {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
          </ActionIcon>
        </Tooltip>
      )}
    </Copying>
  )
}
