import { Textarea, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, take } from '../../api/client.ts'
import { TEMPLATES_KEY } from '../../api/templates.ts'
import { FormDialog } from '../../components/FormDialog.tsx'
import { notify } from '../../components/notify.ts'

type NewTemplateProps = { opened: boolean; onClose: () => void; companyId: string; companyName: string }

const FIRST_HTML = '<p>{{ name }},</p>\n<p>…</p>\n'

/** A new draft, which opens in the editor. */
export function NewTemplate({ opened, onClose, companyId, companyName }: NewTemplateProps) {
  const { t } = useTranslation('templates')
  const client = useQueryClient()
  const navigate = useNavigate()
  const [type, setType] = useState('')
  const [locale, setLocale] = useState('')
  const [subject, setSubject] = useState('')
  const [html, setHtml] = useState(FIRST_HTML)
  const create = async () => {
    const body = { type: type.trim(), subject, html, ...(locale.trim() && { locale: locale.trim() }) }
    const made = await take(
      api.POST('/admin/companies/{companyId}/templates', { params: { path: { companyId } }, body }),
    )
    notify.done(t('created'))
    void client.invalidateQueries({ queryKey: TEMPLATES_KEY })
    await navigate({ to: '/templates/$templateId', params: { templateId: made.id } })
  }
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title={t('newTitle', { name: companyName })}
      submit={t('create')}
      onSubmit={create}
      disabled={type.trim() === '' || subject === ''}
      fields={['type', 'locale', 'subject', 'html']}
    >
      {errorOf => (
        <>
          <TextInput
            label={t('type')}
            description={t('typeHint')}
            error={errorOf('type')}
            value={type}
            onChange={event => setType(event.currentTarget.value)}
            maxLength={64}
            data-autofocus
          />
          <TextInput
            label={t('locale')}
            description={t('localeHint')}
            error={errorOf('locale')}
            value={locale}
            onChange={event => setLocale(event.currentTarget.value)}
            maxLength={6}
          />
          <TextInput
            label={t('subject')}
            error={errorOf('subject')}
            value={subject}
            onChange={event => setSubject(event.currentTarget.value)}
            maxLength={500}
          />
          <Textarea
            label={t('html')}
            error={errorOf('html')}
            value={html}
            onChange={event => setHtml(event.currentTarget.value)}
            classNames={{ input: 'mono' }}
            autosize
            minRows={4}
            maxRows={12}
          />
        </>
      )}
    </FormDialog>
  )
}
