import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { api, take } from '../../api/client.ts'
import { TEMPLATES_KEY, type Template } from '../../api/templates.ts'
import { notify } from '../../components/notify.ts'

/** Puts a version into use, and shows it. */
export function usePublish({ companyId, id }: Template): (version: number) => Promise<void> {
  const { t } = useTranslation('templates')
  const client = useQueryClient()
  const navigate = useNavigate()
  return async version => {
    const params = { path: { companyId: companyId!, id } }
    await take(api.POST('/admin/companies/{companyId}/templates/{id}/publish', { params, body: { version } }))
    notify.done(t('publishDone', { version }))
    await client.invalidateQueries({ queryKey: TEMPLATES_KEY })
    await navigate({ to: '/templates/$templateId', params: { templateId: id }, search: { version } })
  }
}
