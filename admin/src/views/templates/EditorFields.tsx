import { JsonInput, Paper, Stack, Textarea, TextInput, Title } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { Source } from './Template.tsx'

type EditorFieldsProps = {
  source: Source
  onChange: (source: Source) => void
  readOnly: boolean
  isChanged: boolean
  variables: { typed: string; isValid: boolean; onChange: (typed: string) => void }
}

export function EditorFields({ source, onChange, readOnly, isChanged, variables }: EditorFieldsProps) {
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
