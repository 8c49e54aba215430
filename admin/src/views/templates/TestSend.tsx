import { Select, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, take } from '../../api/client.ts'
import { companiesQuery } from '../../api/companies.ts'
import type { Draft, Template } from '../../api/templates.ts'
import { FormDialog } from '../../components/FormDialog.tsx'
import { TextLink } from '../../components/links.tsx'
import { notify } from '../../components/notify.ts'

type TestSendProps = {
  opened: boolean
  onClose: () => void
  template: Template
  variables: NonNullable<Draft['variables']>
}

/** A starter belongs to nobody: then the company that sends it is asked for. */
export function TestSend({ opened, onClose, template, variables }: TestSendProps) {
  const { t } = useTranslation('templates')
  const { data } = useQuery(companiesQuery)
  const [to, setTo] = useState('')
  const [chosen, setChosen] = useState<string | null>(null)
  const { id, type, version, companyId, companyName } = template
  const name = companyName ?? data?.data.find(one => one.companyId === chosen)?.name ?? t('testAnyCompany')
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
      opened={opened}
      onClose={onClose}
      title={t('testTitle', { type })}
      submit={t('testSubmit')}
      onSubmit={send}
      disabled={to.trim() === '' || (companyId === null && chosen === null)}
      size="md"
    >
      <Text size="sm">{t('testConsequence', { version: version.number, company: name })}</Text>
      {companyId === null && (
        <Select
          label={t('testCompany')}
          data={data?.data.map(one => ({ value: one.companyId, label: one.name })) ?? []}
          value={chosen}
          onChange={setChosen}
          searchable
        />
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
