import { Checkbox, SimpleGrid, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { EVENT_TYPES, type EventType } from '../../api/webhooks.ts'
import type { ErrorOf } from '../../components/refusal.tsx'

export type WebhookForm = { url: string; description: string; eventTypes: EventType[] }

type WebhookFieldsProps = { form: WebhookForm; onChange: (form: WebhookForm) => void; errorOf: ErrorOf }

/** The names of these fields in the API. */
export const WEBHOOK_FIELDS = ['url', 'description', 'eventTypes'] as const

/** The settings of an endpoint, for a new one and for one that is there. */
export function WebhookFields({ form, onChange, errorOf }: WebhookFieldsProps) {
  const { t } = useTranslation('webhooks')
  return (
    <>
      <TextInput
        label={t('url')}
        description={t('urlHint')}
        type="url"
        error={errorOf('url')}
        value={form.url}
        onChange={event => onChange({ ...form, url: event.currentTarget.value })}
        maxLength={2048}
        placeholder="https://example.com/hooks"
        data-autofocus
      />
      <TextInput
        label={t('description')}
        error={errorOf('description')}
        value={form.description}
        onChange={event => onChange({ ...form, description: event.currentTarget.value })}
        maxLength={200}
      />
      <Checkbox.Group
        label={t('events')}
        description={t('eventsHint')}
        error={errorOf('eventTypes')}
        value={form.eventTypes}
        onChange={chosen => onChange({ ...form, eventTypes: EVENT_TYPES.filter(type => chosen.includes(type)) })}
      >
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs" mt="xs">
          {EVENT_TYPES.map(type => (
            <Checkbox key={type} value={type} label={<span className="mono">{type}</span>} />
          ))}
        </SimpleGrid>
      </Checkbox.Group>
    </>
  )
}
