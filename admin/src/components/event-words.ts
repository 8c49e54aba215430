import { useTranslation } from 'react-i18next'

/** Names that the gateway writes for what it did by itself. */
export const BY_GATEWAY = ['system', 'gateway', 'reputation']

/** What the gateway and the providers write in events, in the language of the reader. What is not known here is shown as it is. */
export function useEventWords() {
  const { t } = useTranslation()
  const types = t('bounce.types', { returnObjects: true }) as Record<string, string>
  const subTypes = t('bounce.subTypes', { returnObjects: true }) as Record<string, string>
  return {
    /** Who did it, of `administrator ana`, `key 0123`, `system`: "by the gateway". */
    by(by: string): string {
      if (BY_GATEWAY.includes(by)) return t('actor.gateway')
      if (by === 'command line') return t('actor.commandLine')
      if (by === 'erasure') return t('actor.erasure')
      const [, kind, name] = /^(administrator|key|role) (.+)$/.exec(by) ?? []
      return kind ? t(`actor.${kind as 'administrator' | 'key' | 'role'}`, { name }) : t('actor.other', { name: by })
    },
    bounceType: (type: string) => types[type] ?? type,
    bounceSubType: (subType: string) => subTypes[subType] ?? subType,
  }
}
