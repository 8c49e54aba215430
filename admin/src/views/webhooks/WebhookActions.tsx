import { Button } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, take } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { WEBHOOKS_KEY, type WebhookOverview } from '../../api/webhooks.ts'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { useErrorText } from '../../components/error-text.ts'
import { FormDialog } from '../../components/FormDialog.tsx'
import { notify } from '../../components/notify.ts'
import { SecretOnce } from '../../components/SecretOnce.tsx'
import { WEBHOOK_FIELDS, WebhookFields, type WebhookForm } from './WebhookFields.tsx'

type Asked = 'enable' | 'disable' | 'rotate' | 'remove'

/** Test, edit, rotate, enable or disable, remove. */
export function WebhookActions({ webhook }: { webhook: WebhookOverview }) {
  const { t } = useTranslation('webhooks')
  const client = useQueryClient()
  const navigate = useNavigate()
  const errorText = useErrorText()
  const [asked, setAsked] = useState<Asked | null>(null)
  const [editing, setEditing] = useState(false)
  const [secret, setSecret] = useState<string | null>(null)
  const params = { path: { companyId: webhook.companyId, id: webhook.id } }
  const refresh = () => client.invalidateQueries({ queryKey: WEBHOOKS_KEY })
  const sendTest = async () => {
    try {
      await take(api.POST('/admin/companies/{companyId}/webhooks/{id}/test', { params }))
      notify.done(t('testSent'))
      await refresh()
    } catch (error) {
      notify.failed(errorText(error))
    }
  }
  const acts: Record<Asked, () => Promise<unknown>> = {
    enable: () => switchTo(true),
    disable: () => switchTo(false),
    rotate: async () => {
      setSecret((await take(api.POST('/admin/companies/{companyId}/webhooks/{id}/rotate-secret', { params }))).secret)
      await refresh()
    },
    remove: async () => {
      await take(api.DELETE('/admin/companies/{companyId}/webhooks/{id}', { params }))
      notify.done(t('removed'))
      await navigate({ to: '/webhooks' })
      client.removeQueries({ queryKey: [...WEBHOOKS_KEY, webhook.id] })
      await refresh()
    },
  }
  const switchTo = async (enabled: boolean) => {
    await take(api.PATCH('/admin/companies/{companyId}/webhooks/{id}', { params, body: { enabled } }))
    notify.done(t(enabled ? 'enabled' : 'disabled'))
    await refresh()
  }
  const [maySupport, mayChange] = [useMay('support'), useMay('administrator')]
  const button = (name: Asked) => (
    <Button variant="default" onClick={() => setAsked(name)}>
      {t(name)}
    </Button>
  )
  return (
    <>
      {maySupport && (
        <Button onClick={() => void sendTest()} disabled={!webhook.enabled}>
          {t('sendTest')}
        </Button>
      )}
      {mayChange && (
        <>
          <Button variant="default" onClick={() => setEditing(true)}>
            {t('edit')}
          </Button>
          {button('rotate')}
          {button(webhook.enabled ? 'disable' : 'enable')}
          {button('remove')}
        </>
      )}
      {asked && (
        <ConfirmDialog
          opened
          onClose={() => setAsked(null)}
          title={t(`${asked}Title`)}
          verb={t(asked)}
          consequence={t(`${asked}Consequence`)}
          danger={asked === 'remove' || asked === 'disable'}
          {...(asked === 'remove' && { typeToConfirm: new URL(webhook.url).host })}
          onConfirm={acts[asked]}
        />
      )}
      {editing && <EditWebhook webhook={webhook} onClose={() => setEditing(false)} onSaved={refresh} />}
      <SecretOnce secret={secret} title={t('secretTitle')} onClose={() => setSecret(null)} />
    </>
  )
}

type EditProps = { webhook: WebhookOverview; onClose: () => void; onSaved: () => Promise<unknown> }

function EditWebhook({ webhook, onClose, onSaved }: EditProps) {
  const { t } = useTranslation('webhooks')
  const { companyId, id, url, description, eventTypes } = webhook
  const [form, setForm] = useState<WebhookForm>({ url, description: description ?? '', eventTypes })
  const save = async () => {
    // A URL that stays is not sent: a changed one resets the failures.
    const { url: wanted, ...rest } = form
    const body = {
      ...rest,
      description: form.description.trim() || null,
      ...(wanted.trim() !== url && { url: wanted.trim() }),
    }
    await take(api.PATCH('/admin/companies/{companyId}/webhooks/{id}', { params: { path: { companyId, id } }, body }))
    notify.done(t('saved'))
    await onSaved()
  }
  return (
    <FormDialog
      opened
      onClose={onClose}
      title={t('editTitle')}
      submit={t('save')}
      onSubmit={save}
      disabled={form.url.trim() === '' || form.eventTypes.length === 0}
      fields={WEBHOOK_FIELDS}
    >
      {errorOf => <WebhookFields form={form} onChange={setForm} errorOf={errorOf} />}
    </FormDialog>
  )
}
