import {
  Button,
  Checkbox,
  Group,
  NumberInput,
  Paper,
  Select,
  SimpleGrid,
  Stack,
  TagsInput,
  Text,
  TextInput,
} from '@mantine/core'
import type { ChangeEvent } from 'react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api } from '../../api/client.ts'
import type { Company } from '../../api/companies.ts'
import { useMay } from '../../api/session.ts'
import { type ErrorOf, useSubmit } from '../../components/dialogs.tsx'
import { useChange } from '../../components/use-change.ts'
import { changesOf, formOf, RETRY_POLICIES, type SettingsForm } from './settings-form.ts'

export function SettingsTab({ company }: { company: Company }) {
  const { t } = useTranslation('companies')
  const change = useChange('/admin/companies')
  const may = useMay('administrator')
  const [form, setForm] = useState(() => formOf(company))
  const [isDefault, setDefault] = useState(company.isDefault)
  const { form: element, errorOf, alert, busy, submit } = useSubmit(SETTINGS_FIELDS)
  const { companyId, name } = company
  const changes = { ...changesOf(form, company), ...(isDefault && !company.isDefault && { isDefault: true as const }) }
  const isChanged = Object.keys(changes).length > 0
  const save = () =>
    change(
      api.PATCH('/admin/companies/{companyId}', { params: { path: { companyId } }, body: changes }),
      t('form.saved', { name }),
      async saved => setForm(formOf(saved)),
    )
  return (
    <Paper withBorder p="md" maw={760}>
      <Stack component="form" ref={element} onSubmit={submit(save)}>
        <SettingsFields form={form} onChange={setForm} readOnly={!may} errorOf={errorOf} />
        <Checkbox
          label={t('form.isDefault')}
          checked={isDefault}
          disabled={company.isDefault || !may}
          onChange={event => setDefault(event.currentTarget.checked)}
        />
        {alert}
        {may && (
          <Group justify="flex-end">
            {!isChanged && (
              <Text size="sm" className="quiet">
                {t('form.unchanged')}
              </Text>
            )}
            <Button type="submit" disabled={!isChanged} loading={busy}>
              {t('form.save')}
            </Button>
          </Group>
        )}
      </Stack>
    </Paper>
  )
}

type SettingsFieldsProps = {
  form: SettingsForm
  onChange: (form: SettingsForm) => void
  readOnly?: boolean
  errorOf?: ErrorOf
}

/** The names of these fields in the API. */
export const SETTINGS_FIELDS = [
  ...['weight', 'ratePerSecond', 'retryPolicy', 'fromDomains', 'defaultFrom', 'locale'],
] as const

/** The settings of a company, for a new one and for one that is there. */
export function SettingsFields({ form, onChange, readOnly = false, errorOf = () => undefined }: SettingsFieldsProps) {
  const { t } = useTranslation('companies')
  const set = (change: Partial<SettingsForm>) => onChange({ ...form, ...change })
  /** `name` is that of the API, `label` that of the texts and of the form. */
  const field = <Label extends keyof SettingsForm>(label: Label, name: string = label) => ({
    label: t(`form.${label}`),
    description: t(`form.${label}Hint`),
    error: errorOf(name),
    value: form[label],
    readOnly,
  })
  const onText = (name: 'defaultFrom' | 'locale') => (event: ChangeEvent<HTMLInputElement>) =>
    set({ [name]: event.currentTarget.value })
  return (
    <>
      <TagsInput
        {...field('fromDomains')}
        onChange={fromDomains => set({ fromDomains })}
        splitChars={[',', ' ']}
        acceptValueOnBlur
      />
      <TextInput
        {...field('defaultFrom')}
        placeholder="Acme <hello@acme.com>"
        onChange={onText('defaultFrom')}
        maxLength={320}
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }} style={{ alignItems: 'end' }}>
        <NumberInput
          {...field('weight')}
          onChange={weight => set({ weight })}
          min={1}
          max={100}
          clampBehavior="none"
          allowDecimal={false}
        />
        <NumberInput
          {...field('rate', 'ratePerSecond')}
          onChange={rate => set({ rate })}
          min={0.01}
          max={1_000_000}
          clampBehavior="none"
        />
        <Select
          {...field('retryPolicy')}
          placeholder={t('form.byDefault')}
          data={[...RETRY_POLICIES]}
          onChange={retryPolicy => set({ retryPolicy })}
          clearable={!readOnly}
        />
        <TextInput {...field('locale')} onChange={onText('locale')} maxLength={6} />
      </SimpleGrid>
    </>
  )
}
