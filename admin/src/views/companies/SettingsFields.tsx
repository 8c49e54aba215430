import { NumberInput, Select, SimpleGrid, TagsInput, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { ErrorOf } from '../../components/refusal.tsx'
import { RETRY_POLICIES, type SettingsForm } from './settings-form.ts'

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
  return (
    <>
      <TagsInput
        label={t('form.fromDomains')}
        error={errorOf('fromDomains')}
        description={t('form.fromDomainsHint')}
        value={form.fromDomains}
        onChange={fromDomains => set({ fromDomains })}
        readOnly={readOnly}
        splitChars={[',', ' ']}
        acceptValueOnBlur
      />
      <TextInput
        label={t('form.defaultFrom')}
        error={errorOf('defaultFrom')}
        description={t('form.defaultFromHint')}
        placeholder="Acme <hello@acme.com>"
        value={form.defaultFrom}
        onChange={event => set({ defaultFrom: event.currentTarget.value })}
        readOnly={readOnly}
        maxLength={320}
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }} style={{ alignItems: 'end' }}>
        <NumberInput
          label={t('form.weight')}
          error={errorOf('weight')}
          description={t('form.weightHint')}
          value={form.weight}
          onChange={weight => set({ weight })}
          min={1}
          max={100}
          clampBehavior="none"
          allowDecimal={false}
          readOnly={readOnly}
        />
        <NumberInput
          label={t('form.rate')}
          error={errorOf('ratePerSecond')}
          description={t('form.rateHint')}
          value={form.rate}
          onChange={rate => set({ rate })}
          min={0.01}
          max={1_000_000}
          clampBehavior="none"
          readOnly={readOnly}
        />
        <Select
          label={t('form.retryPolicy')}
          error={errorOf('retryPolicy')}
          description={t('form.retryPolicyHint')}
          placeholder={t('form.byDefault')}
          data={[...RETRY_POLICIES]}
          value={form.retryPolicy}
          onChange={retryPolicy => set({ retryPolicy })}
          clearable={!readOnly}
          readOnly={readOnly}
        />
        <TextInput
          label={t('form.locale')}
          error={errorOf('locale')}
          description={t('form.localeHint')}
          value={form.locale}
          onChange={event => set({ locale: event.currentTarget.value })}
          maxLength={6}
          readOnly={readOnly}
        />
      </SimpleGrid>
    </>
  )
}
