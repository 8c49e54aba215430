import {
  Alert,
  Button,
  Grid,
  JsonInput,
  Paper,
  Select,
  Skeleton,
  Stack,
  Text,
  Textarea,
  TextInput,
  Title,
} from '@mantine/core'
import { IconCircleCheck, IconHistory, IconPencil } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useBlocker, useNavigate } from '@tanstack/react-router'
import { type ChangeEvent, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, read, type Schemas, take } from '../../api/client.ts'
import { useCompanyOptions } from '../../api/companies.ts'
import { useMay } from '../../api/session.ts'
import { ConfirmDialog, DialogButton, type DialogState, FormDialog } from '../../components/dialogs.tsx'
import { notify } from '../../components/notify.ts'
import { Page, Panel } from '../../components/Page.tsx'
import { QueryState } from '../../components/states.tsx'
import { type Column, DataTable } from '../../components/table.tsx'
import { useChange, useNotifyRefusal } from '../../components/use-change.ts'
import { TextLink, TimeText, Tone } from '../../components/values.tsx'
import { useAuditWords } from '../audit/words.ts'
import { Preview } from './Preview.tsx'
import { parseVariables, sampleVariables } from './sample-variables.ts'
import { TEMPLATES, TemplateState } from './TemplateTable.tsx'

export const Route = createLazyRoute('/signed-in/templates/$templateId')({ component: Template })

type TemplateData = Schemas['TemplateOfCompany']
type Draft = Schemas['PreviewDraftInput']
export type Source = { subject: string; html: string; text: string }

function Template() {
  const { t } = useTranslation('templates')
  const { templateId } = Route.useParams()
  const { version } = Route.useSearch()
  const query = useQuery({
    ...read('/admin/templates/{templateId}', { path: { templateId }, query: { version } }),
    // An editor is open on it: it is not replaced under the hands of its writer.
    refetchOnWindowFocus: false,
  })
  if (query.data)
    // Another version, or a new one, begins a new editor.
    return <Editor key={`${query.data.id} ${query.data.version.number}`} template={query.data} />
  return (
    <Page title={t('title')} back={{ to: '/templates', label: t('back') }}>
      <QueryState query={query} skeleton={<Skeleton height={480} />}>
        {() => null}
      </QueryState>
    </Page>
  )
}

function Editor({ template }: { template: TemplateData }) {
  const { t } = useTranslation('templates')
  const { version, companyId, companyName } = template
  const [typed, setTyped] = useState(() => JSON.stringify(sampleVariables(version.variables), null, 2))
  const readOnly = !useMay('administrator') || template.starter
  const { source, setSource, isChanged } = useSource(`${template.id} ${version.number}`, sourceOf(template), readOnly)
  const variables = parseVariables(typed)
  return (
    <Page
      title={template.type}
      subtitle={
        <>
          <TemplateState template={template} /> {template.locale}
          {version.number !== template.published && ` · ${t('published', { version: version.number })}`}
          {companyId && (
            <>
              {' · '}
              <TextLink
                inherit
                underline="always"
                to="/companies/$companyId/$tab"
                params={{ companyId, tab: 'templates' }}
              >
                {companyName}
              </TextLink>
            </>
          )}
        </>
      }
      back={{ to: '/templates', label: t('back') }}
      actions={<TemplateActions template={template} source={source} isChanged={isChanged} variables={variables} />}
    >
      {template.starter && (
        <Alert color="gray" variant="light">
          {t('readOnly', { type: template.type })}
        </Alert>
      )}
      <Grid gap="md">
        <Grid.Col span={{ base: 12, md: 6 }}>
          <EditorFields
            source={source}
            onChange={setSource}
            readOnly={readOnly}
            isChanged={isChanged}
            variables={{ typed, isValid: variables !== null, onChange: setTyped }}
          />
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 6 }}>
          <Preview
            source={source}
            variables={variables}
            onSample={names => setTyped(JSON.stringify(sampleVariables(names, variables ?? {}), null, 2))}
          />
        </Grid.Col>
      </Grid>
      <Versions template={template} />
      <LeaveDialog isChanged={isChanged} />
    </Page>
  )
}

const sourceOf = ({ version: { subject, html, text } }: TemplateData): Source => ({
  subject,
  html: html ?? '',
  text: text ?? '',
})

type EditorFieldsProps = {
  source: Source
  onChange: (source: Source) => void
  readOnly: boolean
  isChanged: boolean
  variables: { typed: string; isValid: boolean; onChange: (typed: string) => void }
}

function EditorFields({ source, onChange, readOnly, isChanged, variables }: EditorFieldsProps) {
  const { t } = useTranslation('templates')
  const field = (name: keyof Source) => ({
    label: t(name),
    value: source[name],
    onChange: ({ currentTarget: { value } }: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) =>
      onChange({ ...source, [name]: value }),
    readOnly,
  })
  return (
    <Paper withBorder p="md">
      <Stack gap="sm">
        <Title order={2} size="h5">
          {t('editor')} {isChanged && <span className="quiet">· {t('unsaved')}</span>}
        </Title>
        <TextInput {...field('subject')} maxLength={500} />
        <Textarea
          {...field('html')}
          classNames={{ input: 'mono' }}
          autosize
          minRows={12}
          maxRows={28}
          spellCheck={false}
        />
        <Textarea
          {...field('text')}
          description={t('textHint')}
          classNames={{ input: 'mono' }}
          autosize
          minRows={4}
          maxRows={16}
        />
        <JsonInput
          label={t('variables')}
          description={t('variablesHint')}
          value={variables.typed}
          onChange={variables.onChange}
          error={variables.isValid ? undefined : t('variablesWrong')}
          classNames={{ input: 'mono' }}
          autosize
          minRows={4}
          maxRows={16}
          spellCheck={false}
        />
      </Stack>
    </Paper>
  )
}

type TemplateActionsProps = {
  template: TemplateData
  source: Source
  isChanged: boolean
  /** null: what is typed is no JSON. */
  variables: NonNullable<Draft['variables']> | null
}

/** Save, publish, test, delete. */
function TemplateActions({ template, source, isChanged, variables }: TemplateActionsProps) {
  const { t } = useTranslation('templates')
  const navigate = useNavigate()
  const change = useChange(TEMPLATES)
  const notifyRefusal = useNotifyRefusal()
  const publish = usePublish(template)
  const [busy, setBusy] = useState(false)
  const [mayTest, mayChange] = [useMay('support'), useMay('administrator') && !template.starter]
  const { companyId, id, type, draft } = template
  // What belongs to nobody is a starter, which is not changed.
  const params = { path: { companyId: companyId!, id } }
  const save = async () => {
    const body = { subject: source.subject, html: source.html || null, text: source.text || null }
    await change(api.PATCH('/admin/companies/{companyId}/templates/{id}', { params, body }), saved =>
      t('saved', { version: saved.version.number }),
    )
    forgetUnsaved()
    await navigate({ to: '/templates/$templateId', params: { templateId: id }, search: {}, ignoreBlocker: true })
  }
  const remove = () =>
    change(api.DELETE('/admin/companies/{companyId}/templates/{id}', { params }), t('removed'), async () => {
      forgetUnsaved()
      await navigate({ to: '/templates', ignoreBlocker: true })
    })
  return (
    <>
      {mayChange && (
        <Button
          variant={isChanged ? 'filled' : 'default'}
          onClick={() => {
            setBusy(true)
            void notifyRefusal(save()).finally(() => setBusy(false))
          }}
          disabled={!isChanged}
          loading={busy}
        >
          {t('save')}
        </Button>
      )}
      {mayChange && draft !== null && (
        <DialogButton
          disabled={isChanged}
          dialog={state => (
            <ConfirmDialog
              {...state}
              title={t('publishTitle', { version: draft })}
              verb={t('publish')}
              consequence={t('publishConsequence')}
              onConfirm={() => publish(draft)}
            />
          )}
        >
          {t('publish')}
        </DialogButton>
      )}
      {mayTest && (
        <DialogButton
          variant="default"
          disabled={isChanged || variables === null}
          dialog={state => <TestSend {...state} template={template} variables={variables ?? {}} />}
        >
          {t('test')}
        </DialogButton>
      )}
      {mayChange && (
        <DialogButton
          variant="default"
          dialog={state => (
            <ConfirmDialog
              {...state}
              title={t('removeTitle', { type })}
              verb={t('remove')}
              consequence={t('removeConsequence')}
              danger
              typeToConfirm={type}
              onConfirm={remove}
            />
          )}
        >
          {t('remove')}
        </DialogButton>
      )}
    </>
  )
}

type TestSendProps = DialogState & { template: TemplateData; variables: NonNullable<Draft['variables']> }

/** A starter belongs to nobody: then the company that sends it is asked for. */
function TestSend({ template, variables, ...dialog }: TestSendProps) {
  const { t } = useTranslation('templates')
  const companies = useCompanyOptions()
  const [to, setTo] = useState('')
  const [chosen, setChosen] = useState<string | null>(null)
  const { id, type, version, companyId, companyName } = template
  const name = companyName ?? companies.find(({ value }) => value === chosen)?.label ?? t('testAnyCompany')
  const send = async () => {
    const body = { to: to.trim(), version: version.number, variables }
    const params = { path: { companyId: companyId ?? chosen!, id } }
    const { outboxId } = await take(api.POST('/admin/companies/{companyId}/templates/{id}/test', { params, body }))
    notify.done(
      <>
        {t('testDone')}{' '}
        <TextLink size="sm" to="/emails/$outboxId" params={{ outboxId }}>
          {t('testOpen')}
        </TextLink>
      </>,
    )
  }
  return (
    <FormDialog
      {...dialog}
      title={t('testTitle', { type })}
      verb={t('testSubmit')}
      onSubmit={send}
      disabled={to.trim() === '' || (companyId === null && chosen === null)}
      size="md"
    >
      <Text size="sm">{t('testConsequence', { version: version.number, company: name })}</Text>
      {companyId === null && (
        <Select label={t('testCompany')} data={companies} value={chosen} onChange={setChosen} searchable />
      )}
      <TextInput
        label={t('testTo')}
        type="email"
        value={to}
        onChange={event => setTo(event.currentTarget.value)}
        maxLength={320}
        data-autofocus
      />
    </FormDialog>
  )
}

type Version = Schemas['TemplateVersionSummary']
const VERSION_LOOKS = {
  draft: ['amber', IconPencil],
  published: ['green', IconCircleCheck],
  replaced: ['grey', IconHistory],
} as const

/** Each version can be shown; one that was in use can be put into use again. */
function Versions({ template }: { template: TemplateData }) {
  const { t } = useTranslation('templates')
  const navigate = useNavigate()
  const may = useMay('administrator') && !template.starter
  const [returning, setReturning] = useState<number | null>(null)
  const publish = usePublish(template)
  return (
    <Panel title={t('versions')}>
      <DataTable
        label={t('versions')}
        columns={useVersionColumns(template, may ? setReturning : null)}
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

function useVersionColumns(template: TemplateData, onReturn: ((version: number) => void) | null): Column<Version>[] {
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
      cell: ({ status }) => <Tone look={VERSION_LOOKS[status]}>{t(`statuses.${status}`)}</Tone>,
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

/** Puts a version into use, and shows it. */
function usePublish({ companyId, id }: TemplateData): (version: number) => Promise<void> {
  const { t } = useTranslation('templates')
  const change = useChange(TEMPLATES)
  const navigate = useNavigate()
  return async version => {
    const params = { path: { companyId: companyId!, id } }
    const request = api.POST('/admin/companies/{companyId}/templates/{id}/publish', { params, body: { version } })
    await change(request, t('publishDone', { version }))
    await navigate({ to: '/templates/$templateId', params: { templateId: id }, search: { version } })
  }
}

/** What was typed and not saved outlives the sign-in page, which a session that has ended leads to. */
let unsaved: { key: string; source: Source } | null = null

/** The source in the editor. `key` names the version that it began with. */
function useSource(key: string, saved: Source, readOnly: boolean) {
  const [source, setSource] = useState<Source>(() => (!readOnly && unsaved?.key === key ? unsaved.source : saved))
  const isChanged = JSON.stringify(source) !== JSON.stringify(saved)
  useEffect(() => {
    if (isChanged) unsaved = { key, source }
    else if (unsaved?.key === key) unsaved = null
  }, [key, source, isChanged])
  return { source, setSource, isChanged }
}

/** After a change that makes what was typed pointless: it was saved as another version, or the template was deleted. */
function forgetUnsaved(): void {
  unsaved = null
}

/** Asks before somebody leaves an editor with unsaved changes; the browser asks when the tab is closed. */
function LeaveDialog({ isChanged }: { isChanged: boolean }) {
  const { t } = useTranslation('templates')
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) =>
      isChanged && (current.pathname !== next.pathname || versionOf(current.search) !== versionOf(next.search)),
    enableBeforeUnload: isChanged,
    withResolver: true,
  })
  return (
    <ConfirmDialog
      opened={status === 'blocked'}
      onClose={() => reset?.()}
      title={t('leaveTitle')}
      verb={t('leave')}
      dismiss={t('stay')}
      consequence={t('leaveConsequence')}
      danger
      onConfirm={async () => {
        forgetUnsaved()
        proceed?.()
      }}
    />
  )
}

const versionOf = (search: object) => ('version' in search ? search.version : undefined)
