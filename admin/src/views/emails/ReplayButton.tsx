import { Button } from '@mantine/core'
import { IconRotateClockwise } from '@tabler/icons-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { ChangeDialog } from '../dead-letters/ChangeDialog.tsx'
import { OUTCOME_UNKNOWN } from '../dead-letters/data.ts'
import type { Email } from './queries.ts'

/** The same e-mail goes back to the queue, as from the list of dead letters. */
export function ReplayButton({ email: { outboxId, lastError } }: { email: Email }) {
  const { t } = useTranslation('deadLetters')
  const [asking, setAsking] = useState(false)
  const close = () => setAsking(false)
  const mayArriveTwice = lastError?.code === OUTCOME_UNKNOWN
  return (
    <>
      <Button
        size="sm"
        variant="default"
        leftSection={<IconRotateClockwise size={16} />}
        onClick={() => setAsking(true)}
      >
        {t('replay')}
      </Button>
      <ChangeDialog
        change={asking ? { verb: 'replay', outboxIds: [outboxId], mayArriveTwice, onStarted: close } : null}
        onClose={close}
      />
    </>
  )
}
