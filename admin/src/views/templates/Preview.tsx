import { Alert, Button, Group, Paper, SegmentedControl, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, type Schemas, take } from '../../api/client.ts'
import { useFieldProblemText } from '../../components/error-text.ts'
import { QueryState } from '../../components/states.tsx'
import { CodeBlock } from '../../components/values.tsx'
import { styleNonce } from '../../theme.ts'
import classes from './Preview.module.css'
import type { Source } from './Template.tsx'
import { TEMPLATES } from './TemplateTable.tsx'

type Draft = Schemas['PreviewDraftInput']

type PreviewProps = {
  source: Source
  /** null: what is typed is no JSON. */
  variables: Draft['variables'] | null
  /** Adds samples for these variables. */
  onSample: (names: string[]) => void
}

/** How long nothing was typed before it is rendered again. */
const PAUSE_MS = 400

export function Preview({ source, variables, onSample }: PreviewProps) {
  const { t } = useTranslation('templates')
  const { subject, html, text } = source
  const wanted: Draft = { subject, html: html || null, text: text || null, variables: variables ?? {} }
  const [draft] = useDebouncedValue(wanted, PAUSE_MS)
  const query = useQuery({
    queryKey: [`${TEMPLATES}/preview`, draft],
    queryFn: ({ signal }) => take(api.POST('/admin/templates/preview', { body: draft, signal })),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  return (
    <Paper withBorder p="md" component="section" aria-label={t('preview')}>
      {variables === null ? (
        <Text className="quiet">{t('previewWithoutVariables')}</Text>
      ) : (
        <QueryState query={query} skeleton={<Skeleton height={420} />}>
          {preview => <Rendered preview={preview} onSample={onSample} />}
        </QueryState>
      )}
    </Paper>
  )
}

function Rendered({ preview, onSample }: { preview: Schemas['DraftPreview']; onSample: (names: string[]) => void }) {
  const { t } = useTranslation('templates')
  const problemText = useFieldProblemText()
  const [part, setPart] = useState<'html' | 'text'>('html')
  const { rendered, variables, problems } = preview
  // The template is right, and whoever sends it gives the variable.
  const isLacking = ({ code }: { code: string }) => code === 'TEMPLATE_VARIABLE_MISSING'
  const [lacking, wrong] = [problems.filter(isLacking), problems.filter(problem => !isLacking(problem))]
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h5">
          {t('preview')}
        </Title>
        <SegmentedControl
          size="xs"
          aria-label={t('preview')}
          value={part}
          onChange={setPart}
          data={[
            { value: 'html', label: t('previewHtml') },
            { value: 'text', label: t('previewText') },
          ]}
        />
      </Group>
      {lacking.length > 0 && (
        <Alert color="blue" variant="light" title={t('sampleLacks')} role="status">
          {lacking.map(problem => (
            <div key={problem.message}>{problem.name ?? problemText(problem)}</div>
          ))}
        </Alert>
      )}
      {wrong.length > 0 && (
        <Alert color="yellow" variant="light" title={t('problems')} role="status">
          {wrong.map(problem => (
            <div key={`${problem.path} ${problem.message}`}>{problemText(problem)}</div>
          ))}
        </Alert>
      )}
      {rendered === null ? (
        <Text className="quiet">{t('previewNone')}</Text>
      ) : (
        <>
          <Text fw={600}>{rendered.subject}</Text>
          {part === 'html' ? (
            rendered.html === null ? (
              <Text className="quiet">{t('noHtml')}</Text>
            ) : (
              <HtmlFrame html={rendered.html} title={t('previewFrame')} />
            )
          ) : rendered.text === null ? (
            <Text className="quiet">{t('noText')}</Text>
          ) : (
            <CodeBlock code={rendered.text} />
          )}
        </>
      )}
      <Used names={variables} onSample={onSample} />
    </Stack>
  )
}

function Used({ names, onSample }: { names: string[]; onSample: (names: string[]) => void }) {
  const { t } = useTranslation('templates')
  if (names.length === 0) return <Text className="quiet">{t('noVariables')}</Text>
  return (
    <Group gap={6}>
      <Text size="sm" className="quiet">
        {t('used')}:
      </Text>
      {names.map(name => (
        <Button
          key={name}
          size="compact-xs"
          variant="default"
          className="mono"
          maw="100%"
          title={name}
          onClick={() => onSample([name])}
        >
          <Text span inherit truncate>
            {name}
          </Text>
        </Button>
      ))}
    </Group>
  )
}

/**
 * HTML of an e-mail in a sandbox: no script runs and nothing is loaded from outside, by the sandbox and by the policy of the page, which
 * the frame inherits. Its style elements get the nonce of the page, or the policy would refuse them. Its link elements are taken out of
 * use: no policy keeps a browser from connecting to the host of `<link rel="preconnect">`.
 */
function HtmlFrame({ html, title }: { html: string; title: string }) {
  const shown = useMemo(() => withNonce(html).replaceAll(/<link(?=[\s/>])/gi, '<x-link'), [html])
  return <iframe className={classes.frame} sandbox="" srcDoc={shown} title={title} referrerPolicy="no-referrer" />
}

/** In the text, not by a parser: a document of the parser is under the policy already, and would be reported. */
const withNonce = (html: string) => html.replaceAll(/<style\b/gi, match => `${match} nonce="${styleNonce()}"`)
