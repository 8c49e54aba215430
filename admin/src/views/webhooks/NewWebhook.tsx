import { Checkbox } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, type Schemas, take } from '../../api/client.ts'
import { WEBHOOKS_KEY } from '../../api/webhooks.ts'
import { FormDialog } from '../../components/FormDialog.tsx'
import { SecretOnce } from '../../components/SecretOnce.tsx'
import { WEBHOOK_FIELDS, WebhookFields, type WebhookForm } from './WebhookFields.tsx'

type NewWebhookProps = { opened: boolean; onClose: () => void; companyId: string; companyName: string }

const EMPTY: WebhookForm = { url: '', description: '', eventTypes: ['email.sent', 'email.failed'] }

/** A new endpoint; its secret is shown, and then its page opens. */
export function NewWebhook({ opened, onClose, companyId, companyName }: NewWebhookProps) {
  const { t } = useTranslation('webhooks')
  const client = useQueryClient()
  const navigate = useNavigate()
  const [form, setForm] = useState(EMPTY)
  const [test, setTest] = useState(false)
  const [made, setMade] = useState<Schemas['WebhookWithSecret'] | null>(null)
  const create = async () => {
    const body = { ...form, url: form.url.trim(), description: form.description.trim() || null, test }
    setMade(await take(api.POST('/admin/companies/{companyId}/webhooks', { params: { path: { companyId } }, body })))
    setForm(EMPTY)
    void client.invalidateQueries({ queryKey: WEBHOOKS_KEY })
  }
  const open = () => {
    const { id } = made!
    setMade(null)
    void navigate({ to: '/webhooks/$webhookId', params: { webhookId: id } })
  }
  return (
    <>
      <FormDialog
        opened={opened}
        onClose={onClose}
        title={t('newTitle', { name: companyName })}
        submit={t('create')}
        onSubmit={create}
        disabled={form.url.trim() === '' || form.eventTypes.length === 0}
        fields={WEBHOOK_FIELDS}
      >
        {errorOf => (
          <>
            <WebhookFields form={form} onChange={setForm} errorOf={errorOf} />
            <Checkbox label={t('testMode')} checked={test} onChange={event => setTest(event.currentTarget.checked)} />
          </>
        )}
      </FormDialog>
      <SecretOnce secret={made?.secret ?? null} title={t('secretTitle')} onClose={open} />
    </>
  )
}
