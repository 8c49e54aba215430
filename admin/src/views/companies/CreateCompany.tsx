import { TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, type Schemas, take } from '../../api/client.ts'
import { companiesQuery } from '../../api/companies.ts'
import { FormDialog } from '../../components/FormDialog.tsx'
import { notify } from '../../components/notify.ts'
import { SecretOnce } from '../../components/SecretOnce.tsx'
import { SETTINGS_FIELDS, SettingsFields } from './SettingsFields.tsx'
import { formOf, settingsOf } from './settings-form.ts'

/** A new company; its first API key is shown, and then its page opens. */
export function CreateCompany({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { t } = useTranslation('companies')
  const client = useQueryClient()
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const [form, setForm] = useState(formOf())
  const [made, setMade] = useState<Schemas['CompanyWithKey'] | null>(null)
  const create = async () => {
    setMade(await take(api.POST('/admin/companies', { body: { name: name.trim(), ...settingsOf(form) } })))
    notify.done(t('create.done', { name: name.trim() }))
    setName('')
    setForm(formOf())
    void client.invalidateQueries({ queryKey: companiesQuery.queryKey })
  }
  const open = () => {
    const { companyId } = made!.company
    setMade(null)
    void navigate({ to: '/companies/$companyId/$tab', params: { companyId, tab: 'keys' } })
  }
  return (
    <>
      <FormDialog
        opened={opened}
        onClose={onClose}
        title={t('create.title')}
        submit={t('create.submit')}
        onSubmit={create}
        disabled={name.trim() === ''}
        fields={['name', ...SETTINGS_FIELDS]}
      >
        {errorOf => (
          <>
            <TextInput
              label={t('form.name')}
              description={t('form.nameHint')}
              error={errorOf('name')}
              value={name}
              onChange={event => setName(event.currentTarget.value)}
              maxLength={100}
              required
              withAsterisk={false}
              data-autofocus
            />
            <SettingsFields form={form} onChange={setForm} errorOf={errorOf} />
          </>
        )}
      </FormDialog>
      <SecretOnce
        secret={made?.apiKey ?? null}
        title={t('create.keyTitle', { name: made?.company.name ?? '' })}
        onClose={open}
      />
    </>
  )
}
