import { Alert, FileInput, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { startBulkAction } from '../../api/bulk-actions.ts'
import { CodeBlock } from '../../components/CodeBlock.tsx'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { notify } from '../../components/notify.ts'
import { useFormat } from '../../lib/format.ts'
import { ListSelect } from './AddDialog.tsx'

const MAX_BYTES = 5 * 1024 * 1024
const MAX_LINES = 100_000
const EXAMPLE = 'email,reason,expires_at\nmaria@example.com,MANUAL,2027-12-31\njoao@example.com,COMPLAINT,never'

export function ImportDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { t } = useTranslation('suppression')
  const { number, bytes } = useFormat()
  const client = useQueryClient()
  const [file, setFile] = useState<File | null>(null)
  const [company, setCompany] = useState<string | null>(null)
  const isTooLarge = file !== null && file.size > MAX_BYTES
  const start = async (reason: string) => {
    if (!file || isTooLarge) return
    const csv = await file.text()
    await startBulkAction({ kind: 'import-suppressions', reason, csv, ...(company && { company }) })
    notify.done(t('import.started'))
    setFile(null)
    await client.invalidateQueries({ queryKey: ['bulk-actions'] })
  }
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={t('import.title')}
      verb={t('import.button')}
      consequence={t('import.consequence')}
      askReason
      childFocus
      onConfirm={start}
    >
      <FileInput
        label={t('import.file')}
        description={t('import.limit', { size: bytes(MAX_BYTES), lines: number(MAX_LINES) })}
        placeholder={t('import.choose')}
        accept=".csv,text/csv,text/plain"
        title={file?.name}
        value={file}
        onChange={setFile}
        required
        withAsterisk={false}
        data-autofocus
        clearable
        clearButtonProps={{ 'aria-label': t('import.clear') }}
      />
      {isTooLarge && (
        <Alert color="red" variant="light" role="alert">
          {t('import.tooLarge', { size: bytes(file.size) })}
        </Alert>
      )}
      <div>
        <Text size="sm" className="quiet" mb={4}>
          {t('import.format')}
        </Text>
        <CodeBlock code={EXAMPLE} />
      </div>
      <ListSelect value={company} onChange={setCompany} />
    </ConfirmDialog>
  )
}
