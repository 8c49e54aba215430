import type { Schemas } from '../../api/client.ts'
import type { Company } from '../../api/companies.ts'

/** What the fields hold: text, as it is typed. */
export type SettingsForm = {
  weight: number | string
  rate: number | string
  retryPolicy: string | null
  fromDomains: string[]
  defaultFrom: string
  locale: string
}

export const RETRY_POLICIES = ['steps', 'exponential', 'patient', 'persistent'] as const

export function formOf(company?: Company): SettingsForm {
  return {
    weight: company?.weight ?? 1,
    rate: company?.ratePerSecond ?? '',
    retryPolicy: company?.retryPolicy ?? null,
    fromDomains: company?.fromDomains ?? [],
    defaultFrom: company?.defaultFrom ?? '',
    locale: company?.locale ?? 'pt-BR',
  }
}

type Settings = Omit<Schemas['NewCompanyInput'], 'name' | 'reason'>

/** What the gateway is asked for. Whether it is right, the gateway says. */
export function settingsOf(form: SettingsForm): Settings {
  return {
    weight: Number(form.weight),
    ratePerSecond: form.rate === '' ? null : Number(form.rate),
    retryPolicy: form.retryPolicy as Exclude<Settings['retryPolicy'], undefined>,
    fromDomains: form.fromDomains,
    defaultFrom: form.defaultFrom.trim() === '' ? null : form.defaultFrom.trim(),
    locale: form.locale.trim(),
  }
}

/** Only the settings that differ from the company's; empty: nothing is changed. */
export function changesOf(form: SettingsForm, company: Company): Settings {
  const [wanted, current] = [settingsOf(form), settingsOf(formOf(company))]
  const names = Object.keys(wanted) as (keyof Settings)[]
  const changed = names.filter(name => JSON.stringify(wanted[name]) !== JSON.stringify(current[name]))
  return Object.fromEntries(changed.map(name => [name, wanted[name]]))
}
