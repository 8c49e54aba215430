import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api, type Schemas, take } from './client.ts'

export type TemplateOverview = Schemas['TemplateOverview']
export type Template = Schemas['TemplateOfCompany']

export const TEMPLATES_KEY = ['templates'] as const

export type TemplateFilter = { companyId?: string; text?: string; cursor?: string; limit?: number }

export const templatesQuery = (filter: TemplateFilter) =>
  queryOptions({
    queryKey: [...TEMPLATES_KEY, 'list', filter],
    queryFn: ({ signal }) => take(api.GET('/admin/templates', { params: { query: filter }, signal })),
    placeholderData: keepPreviousData,
  })

export const templateQuery = (templateId: string, version: number | undefined) =>
  queryOptions({
    queryKey: [...TEMPLATES_KEY, templateId, version ?? null],
    queryFn: ({ signal }) =>
      take(
        api.GET('/admin/templates/{templateId}', {
          params: { path: { templateId }, query: version === undefined ? {} : { version } },
          signal,
        }),
      ),
    // An editor is open on it: it is not replaced under the hands of its writer.
    refetchOnWindowFocus: false,
  })

export type Draft = Schemas['PreviewDraftInput']

export const previewQuery = (draft: Draft) =>
  queryOptions({
    queryKey: [...TEMPLATES_KEY, 'preview', draft],
    queryFn: ({ signal }) => take(api.POST('/admin/templates/preview', { body: draft, signal })),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
