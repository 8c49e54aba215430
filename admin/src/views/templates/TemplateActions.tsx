import { Button } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, take } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { type Draft, TEMPLATES_KEY, type Template } from '../../api/templates.ts'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { useErrorText } from '../../components/error-text.ts'
import { notify } from '../../components/notify.ts'
import type { Source } from './Template.tsx'
import { TestSend } from './TestSend.tsx'
import { forgetUnsaved } from './unsaved.tsx'
import { usePublish } from './use-publish.ts'

type TemplateActionsProps = {
  template: Template
  source: Source
  isChanged: boolean
  /** null: what is typed is no JSON. */
  variables: NonNullable<Draft['variables']> | null
}

/** Save, publish, test, delete. */
export function TemplateActions({ template, source, isChanged, variables }: TemplateActionsProps) {
  const { t } = useTranslation('templates')
  const client = useQueryClient()
  const navigate = useNavigate()
  const errorText = useErrorText()
  const publish = usePublish(template)
  const [asked, setAsked] = useState<'publish' | 'test' | 'remove' | null>(null)
  const [busy, setBusy] = useState(false)
  const [mayTest, mayChange] = [useMay('support'), useMay('administrator') && !template.starter]
  const { companyId, id, type, draft } = template
  // What belongs to nobody is a starter, which is not changed.
  const params = { path: { companyId: companyId!, id } }
  const save = async () => {
    setBusy(true)
    try {
      const body = { subject: source.subject, html: source.html || null, text: source.text || null }
      const saved = await take(api.PATCH('/admin/companies/{companyId}/templates/{id}', { params, body }))
      notify.done(t('saved', { version: saved.version.number }))
      await client.invalidateQueries({ queryKey: TEMPLATES_KEY })
      forgetUnsaved()
      await navigate({ to: '/templates/$templateId', params: { templateId: id }, search: {}, ignoreBlocker: true })
    } catch (error) {
      notify.failed(errorText(error))
    } finally {
      setBusy(false)
    }
  }
  const remove = async () => {
    await take(api.DELETE('/admin/companies/{companyId}/templates/{id}', { params }))
    notify.done(t('removed'))
    forgetUnsaved()
    await navigate({ to: '/templates', ignoreBlocker: true })
    await client.invalidateQueries({ queryKey: TEMPLATES_KEY })
  }
  const close = () => setAsked(null)
  return (
    <>
      {mayChange && (
        <Button
          variant={isChanged ? 'filled' : 'default'}
          onClick={() => void save()}
          disabled={!isChanged}
          loading={busy}
        >
          {t('save')}
        </Button>
      )}
      {mayChange && draft !== null && (
        <Button onClick={() => setAsked('publish')} disabled={isChanged}>
          {t('publish')}
        </Button>
      )}
      {mayTest && (
        <Button variant="default" onClick={() => setAsked('test')} disabled={isChanged || variables === null}>
          {t('test')}
        </Button>
      )}
      {mayChange && (
        <Button variant="default" onClick={() => setAsked('remove')}>
          {t('remove')}
        </Button>
      )}
      <ConfirmDialog
        opened={asked === 'publish'}
        onClose={close}
        title={t('publishTitle', { version: draft })}
        verb={t('publish')}
        consequence={t('publishConsequence')}
        onConfirm={() => publish(draft!)}
      />
      <ConfirmDialog
        opened={asked === 'remove'}
        onClose={close}
        title={t('removeTitle', { type })}
        verb={t('remove')}
        consequence={t('removeConsequence')}
        danger
        typeToConfirm={type}
        onConfirm={remove}
      />
      <TestSend opened={asked === 'test'} onClose={close} template={template} variables={variables ?? {}} />
    </>
  )
}
