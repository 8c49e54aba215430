import { NumberInput, Select, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { companiesQuery } from '../../api/companies.ts'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { notify } from '../../components/notify.ts'
import { addEntry, forgetAnswers } from './data.ts'

type AddDialogProps = { opened: boolean; onClose: () => void }

export function AddDialog({ opened, onClose }: AddDialogProps) {
  const { t } = useTranslation('suppression')
  const client = useQueryClient()
  const [email, setEmail] = useState('')
  const [days, setDays] = useState<number | string>('')
  const [company, setCompany] = useState<string | null>(null)
  const add = async (justification: string) => {
    const { added } = await addEntry({
      email: email.trim(),
      justification,
      ...(days !== '' && { expiresInDays: Number(days) }),
      ...(company && { company }),
    })
    notify.done(t(added ? 'add.done' : 'add.unchanged'))
    setEmail('')
    setDays('')
    setCompany(null)
    await forgetAnswers(client)
  }
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={t('add.title')}
      verb={t('add.button')}
      consequence={t('add.consequence')}
      askReason
      childFocus
      fields={['email', 'expiresInDays']}
      onConfirm={add}
    >
      {errorOf => (
        <>
          <TextInput
            label={t('add.email')}
            type="email"
            error={errorOf('email')}
            value={email}
            onChange={event => setEmail(event.currentTarget.value)}
            required
            withAsterisk={false}
            maxLength={320}
            autoComplete="off"
            data-autofocus
          />
          <NumberInput
            label={t('add.days')}
            description={t('add.daysHint')}
            error={errorOf('expiresInDays')}
            value={days}
            onChange={setDays}
            min={0}
            max={36_500}
            clampBehavior="none"
            allowDecimal={false}
          />
          <ListSelect value={company} onChange={setCompany} />
        </>
      )}
    </ConfirmDialog>
  )
}

/** Null: the list of all companies. */
export function ListSelect({ value, onChange }: { value: string | null; onChange: (value: string | null) => void }) {
  const { t } = useTranslation('suppression')
  const { data } = useQuery(companiesQuery)
  return (
    <Select
      label={t('list')}
      placeholder={t('global')}
      data={data?.data.map(one => ({ value: one.companyId, label: one.name })) ?? []}
      value={value}
      onChange={onChange}
      clearable
      searchable
    />
  )
}
