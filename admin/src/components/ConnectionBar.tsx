import { Alert } from '@mantine/core'
import { IconPlugConnectedX } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { useConnection } from '../api/connection.ts'
import { useFormat } from '../lib/format.ts'

/** Since when the gateway or its database does not answer. The data on the screen stays. */
export function ConnectionBar() {
  const { t } = useTranslation()
  const format = useFormat()
  const connection = useConnection()
  if (connection.state === 'up') return null
  return (
    <Alert color="yellow" variant="light" mb="md" py="xs" role="alert" icon={<IconPlugConnectedX size={18} />}>
      {t(`connection.${connection.state}`, { time: format.time(connection.since) })}
    </Alert>
  )
}
