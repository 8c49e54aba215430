import { Button } from '@mantine/core'
import { IconCircleCheck, IconHistory, IconPencil } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Schemas } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import type { Template } from '../../api/templates.ts'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { TextLink } from '../../components/links.tsx'
import { Panel } from '../../components/Panel.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import { Tone } from '../../components/Tone.tsx'
import { useAuditWords } from '../audit/words.ts'
import { usePublish } from './use-publish.ts'

type Version = Schemas['TemplateVersionSummary']
const STATUSES = {
  draft: ['amber', IconPencil],
  published: ['green', IconCircleCheck],
  replaced: ['grey', IconHistory],
} as const

/** Each version can be shown; one that was in use can be put into use again. */
export function Versions({ template }: { template: Template }) {
  const { t } = useTranslation('templates')
  const navigate = useNavigate()
  const may = useMay('administrator') && !template.starter
  const [returning, setReturning] = useState<number | null>(null)
  const publish = usePublish(template)
  return (
    <Panel title={t('versions')}>
      <DataTable
        label={t('versions')}
        columns={useColumns(template, may ? setReturning : null)}
        rows={template.versions}
        rowKey={({ number }) => String(number)}
        onOpen={({ number }) =>
          void navigate({
            to: '/templates/$templateId',
            params: { templateId: template.id },
            search: { version: number },
          })
        }
        empty={null}
      />
      {returning !== null && (
        <ConfirmDialog
          opened
          onClose={() => setReturning(null)}
          title={t('rollBackTitle', { version: returning })}
          verb={t('rollBack')}
          consequence={t('rollBackConsequence', { version: returning, current: template.published })}
          onConfirm={() => publish(returning)}
        />
      )}
    </Panel>
  )
}

function useColumns(template: Template, onReturn: ((version: number) => void) | null): Column<Version>[] {
  const { t } = useTranslation('templates')
  const words = useAuditWords()
  return [
    {
      key: 'number',
      header: t('version'),
      cell: ({ number }) => (
        <TextLink
          inherit
          className="nowrap"
          to="/templates/$templateId"
          params={{ templateId: template.id }}
          search={{ version: number }}
        >
          {t('published', { version: number })}
        </TextLink>
      ),
    },
    {
      key: 'status',
      header: t('state'),
      cell: ({ status }) => {
        const [tone, icon] = STATUSES[status]
        return (
          <Tone tone={tone} icon={icon}>
            {t(`statuses.${status}`)}
          </Tone>
        )
      },
    },
    {
      key: 'by',
      header: t('by'),
      wide: true,
      cell: ({ createdBy }) => <span title={createdBy}>{words.who(createdBy)}</span>,
    },
    { key: 'changed', header: t('changed'), cell: ({ createdAt }) => <TimeText at={createdAt} /> },
    ...(onReturn && template.versions.some(({ status }) => status === 'replaced')
      ? [
          {
            key: 'action',
            header: t('rollBack'),
            align: 'right' as const,
            cell: ({ number, status }: Version) =>
              status === 'replaced' && (
                <Button size="compact-sm" variant="default" onClick={() => onReturn(number)}>
                  {t('rollBack')}
                </Button>
              ),
          },
        ]
      : []),
  ]
}
