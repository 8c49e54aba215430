import { Button, Group, Stack } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Company } from '../../api/company.ts'
import { useMay } from '../../api/session.ts'
import { webhooksQuery } from '../../api/webhooks.ts'
import { StaleBar } from '../../components/QueryState.tsx'
import { NewWebhook } from '../webhooks/NewWebhook.tsx'
import { WebhookTable } from '../webhooks/WebhookTable.tsx'

export function WebhooksTab({ company: { companyId, name } }: { company: Company }) {
  const { t } = useTranslation('webhooks')
  const query = useQuery(webhooksQuery({ companyId }))
  const [creating, setCreating] = useState(false)
  return (
    <Stack gap="sm">
      {useMay('administrator') && (
        <Group justify="flex-end">
          <Button leftSection={<IconPlus size={16} />} onClick={() => setCreating(true)}>
            {t('new')}
          </Button>
        </Group>
      )}
      <StaleBar query={query} />
      <WebhookTable rows={query.data?.data} ofCompany />
      <NewWebhook opened={creating} onClose={() => setCreating(false)} companyId={companyId} companyName={name} />
    </Stack>
  )
}
