import { Alert, Grid, JsonInput, Paper, Skeleton, Stack, Textarea, TextInput, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useMay } from '../../api/session.ts'
import { type Template as TemplateData, templateQuery } from '../../api/templates.ts'
import { TextLink } from '../../components/links.tsx'
import { Page } from '../../components/Page.tsx'
import { QueryState } from '../../components/QueryState.tsx'
import { Preview } from './Preview.tsx'
import { parseVariables, sampleVariables } from './sample-variables.ts'
import { TemplateActions } from './TemplateActions.tsx'
import { TemplateState } from './TemplateTable.tsx'
import { LeaveDialog, useSource } from './unsaved.tsx'
import { Versions } from './Versions.tsx'

export const Route = createLazyRoute('/signed-in/templates/$templateId')({ component: Template })

export type Source = { subject: string; html: string; text: string }

function Template() {
  const { t } = useTranslation('templates')
  const { templateId } = Route.useParams()
  const { version } = Route.useSearch()
  const query = useQuery(templateQuery(templateId, version))
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
  return (
    <Paper withBorder p="md">
      <Stack gap="sm">
        <Title order={2} size="h5">
          {t('editor')} {isChanged && <span className="quiet">· {t('unsaved')}</span>}
        </Title>
        <TextInput
          label={t('subject')}
          value={source.subject}
          onChange={event => onChange({ ...source, subject: event.currentTarget.value })}
          readOnly={readOnly}
          maxLength={500}
        />
        <Textarea
          label={t('html')}
          value={source.html}
          onChange={event => onChange({ ...source, html: event.currentTarget.value })}
          readOnly={readOnly}
          classNames={{ input: 'mono' }}
          autosize
          minRows={12}
          maxRows={28}
          spellCheck={false}
        />
        <Textarea
          label={t('text')}
          description={t('textHint')}
          value={source.text}
          onChange={event => onChange({ ...source, text: event.currentTarget.value })}
          readOnly={readOnly}
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
