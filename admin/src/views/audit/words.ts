import { useTranslation } from 'react-i18next'
import { BY_GATEWAY } from '../../components/event-words.ts'
import { useFormat } from '../../lib/format.ts'
import { type ValueWords, valueText } from './value-text.ts'

/** What was done, to what, and the fields and values of it, in words. What is not known here is shown as the log has it. */
export function useAuditWords() {
  const { t, i18n } = useTranslation(['audit', 'common'])
  const format = useFormat()
  const known = t('actions', { returnObjects: true }) as Record<string, string>
  const subjects = t('subjects', { returnObjects: true }) as Record<string, string>
  const fields: Record<string, string> = i18n.getResourceBundle(i18n.language, 'fields') ?? {}
  const words = (key: 'bounce.types' | 'bounce.subTypes') =>
    t(`common:${key}`, { returnObjects: true }) as Record<string, string>
  const values: ValueWords['values'] = {
    ...i18n.getResourceBundle(i18n.language, 'fieldValues'),
    bounceType: words('bounce.types'),
    bounceSubType: words('bounce.subTypes'),
  }
  const field = (name: string) => (Object.hasOwn(fields, name) ? fields[name]! : name)
  return {
    actions: known,
    subjects,
    action: (action: string) => known[action] ?? plain(action),
    /** Who did it: the name of a person as it is, `system`, `key 0123` and `network 10.0.0.0/8` in words. */
    who(by: string): string {
      if (BY_GATEWAY.includes(by)) return t('by.gateway')
      const [, kind, name] = /^(key|network) (.+)$/.exec(by) ?? []
      return kind ? t(`by.${kind as 'key' | 'network'}`, { name }) : by
    },
    subject: (type: string) => subjects[type] ?? plain(type),
    /** A field may mean something else in the entries of one subject. */
    field: (name: string, subjectType: string) => fields[`${subjectType}_${name}`] ?? field(name),
    value: (value: unknown, name: string) =>
      valueText(value, name, {
        field,
        values,
        yes: t('yes'),
        no: t('no'),
        number: format.decimal,
        percent: format.percent,
        time: format.exact,
        day: format.utcDate,
      }),
  }
}

function plain(word: string): string {
  const text = word.replaceAll('_', ' ').toLowerCase()
  return text.charAt(0).toUpperCase() + text.slice(1)
}
