import { Button, Checkbox, Group, Paper, Stack, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, take } from '../../api/client.ts'
import { companiesQuery } from '../../api/companies.ts'
import { type Company, companyKey } from '../../api/company.ts'
import { useMay } from '../../api/session.ts'
import { notify } from '../../components/notify.ts'
import { useRefusal } from '../../components/refusal.tsx'
import { SETTINGS_FIELDS, SettingsFields } from './SettingsFields.tsx'
import { changesOf, formOf } from './settings-form.ts'

export function SettingsTab({ company }: { company: Company }) {
  const { t } = useTranslation('companies')
  const client = useQueryClient()
  const may = useMay('administrator')
  const [form, setForm] = useState(() => formOf(company))
  const [isDefault, setDefault] = useState(company.isDefault)
  const { form: element, errorOf, alert, setError } = useRefusal(SETTINGS_FIELDS)
  const [busy, setBusy] = useState(false)
  const { companyId, name } = company
  const changes = { ...changesOf(form, company), ...(isDefault && !company.isDefault && { isDefault: true as const }) }
  const isChanged = Object.keys(changes).length > 0
  const save = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(null)
    try {
      const saved = await take(
        api.PATCH('/admin/companies/{companyId}', { params: { path: { companyId } }, body: changes }),
      )
      setForm(formOf(saved))
      notify.done(t('form.saved', { name }))
      await Promise.all([
        client.invalidateQueries({ queryKey: companyKey(companyId) }),
        client.invalidateQueries({ queryKey: companiesQuery.queryKey }),
      ])
    } catch (refusal) {
      setError(refusal)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Paper withBorder p="md" maw={760}>
      <Stack component="form" ref={element} onSubmit={save}>
        <SettingsFields form={form} onChange={setForm} readOnly={!may} errorOf={errorOf} />
        <Checkbox
          label={t('form.isDefault')}
          checked={isDefault}
          disabled={company.isDefault || !may}
          onChange={event => setDefault(event.currentTarget.checked)}
        />
        {alert}
        {may && (
          <Group justify="flex-end">
            {!isChanged && (
              <Text size="sm" className="quiet">
                {t('form.unchanged')}
              </Text>
            )}
            <Button type="submit" disabled={!isChanged} loading={busy}>
              {t('form.save')}
            </Button>
          </Group>
        )}
      </Stack>
    </Paper>
  )
}
