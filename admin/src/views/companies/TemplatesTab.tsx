import { Button, Group, Stack } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Company } from '../../api/company.ts'
import { useMay } from '../../api/session.ts'
import { templatesQuery } from '../../api/templates.ts'
import { StaleBar } from '../../components/QueryState.tsx'
import { NewTemplate } from '../templates/NewTemplate.tsx'
import { TemplateTable } from '../templates/TemplateTable.tsx'

export function TemplatesTab({ company: { companyId, name } }: { company: Company }) {
  const { t } = useTranslation('templates')
  const query = useQuery(templatesQuery({ companyId, limit: 200 }))
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
      <TemplateTable rows={query.data?.data} ofCompany />
      <NewTemplate opened={creating} onClose={() => setCreating(false)} companyId={companyId} companyName={name} />
    </Stack>
  )
}
