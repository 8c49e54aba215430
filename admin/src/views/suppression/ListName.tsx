import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { companiesQuery } from '../../api/companies.ts'

/** Which list: of all companies, or of one. */
export function ListName({ companyId }: { companyId: string | null | undefined }) {
  const { t } = useTranslation('suppression')
  const { data } = useQuery({ ...companiesQuery, enabled: Boolean(companyId) })
  if (!companyId) return t('global')
  return data?.data.find(one => one.companyId === companyId)?.name ?? companyId
}
