import i18next from 'i18next'
import { initReactI18next } from 'react-i18next'
import { type Language, preferences } from '../lib/preferences.ts'
import type * as en from './en/index.ts'
import type * as pt from './pt/index.ts'

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'common'
    // English lacks what the gateway's own words say.
    resources: typeof en & typeof pt
  }
}

/** A language's texts come with one request, when they are needed. */
const LANGUAGES: Record<Language, () => Promise<Texts>> = {
  en: () => import('./en/index.ts'),
  pt: () => import('./pt/index.ts'),
}
type Texts = Record<string, Record<string, unknown>>

export async function startTranslations(): Promise<void> {
  await i18next.use(initReactI18next).init({
    resources: {},
    lng: preferences.get().language,
    defaultNS: 'common',
    ns: ['common'],
    // React escapes.
    interpolation: { escapeValue: false },
    returnNull: false,
  })
  await show(preferences.get().language)
  preferences.subscribe(() => void show(preferences.get().language))
}

async function show(language: Language): Promise<void> {
  if (!i18next.hasResourceBundle(language, 'common')) {
    const texts = await LANGUAGES[language]()
    for (const [view, entries] of Object.entries(texts)) i18next.addResourceBundle(language, view, withMany(entries))
  }
  if (i18next.language !== language || document.documentElement.lang === '') await i18next.changeLanguage(language)
  document.documentElement.lang = language === 'pt' ? 'pt-BR' : 'en'
}

/** Portuguese has a third plural, for whole millions, that reads as the second: `_many` is `_other` unless it is there. */
function withMany(entries: Record<string, unknown>): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(entries)) {
    result[key] = typeof value === 'object' && value ? withMany(value as Record<string, unknown>) : value
    if (key.endsWith('_other')) result[key.replace(/_other$/, '_many')] ??= value
  }
  return result
}
