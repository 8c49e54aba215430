import { useSyncExternalStore } from 'react'

export type Language = 'en' | 'pt'
export type Zone = 'local' | 'utc'
type Preferences = { language: Language; zone: Zone }

const KEY = 'email-gateway'

/** What a browser keeps of its user; the colour scheme is kept by Mantine. */
let current: Preferences = read()
const listeners = new Set<() => void>()

function read(): Preferences {
  const stored = parse(localStorage.getItem(KEY))
  const browser: Language = navigator.language.toLowerCase().startsWith('pt') ? 'pt' : 'en'
  return {
    language: stored.language === 'pt' || stored.language === 'en' ? stored.language : browser,
    zone: stored.zone === 'utc' ? 'utc' : 'local',
  }
}

function parse(text: string | null): Partial<Preferences> {
  try {
    return (text && JSON.parse(text)) || {}
  } catch {
    return {}
  }
}

export const preferences = {
  get: () => current,
  set(change: Partial<Preferences>): void {
    current = { ...current, ...change }
    localStorage.setItem(KEY, JSON.stringify(current))
    for (const listener of listeners) listener()
  },
  subscribe(listener: () => void): () => void {
    listeners.add(listener)
    return () => listeners.delete(listener)
  },
}

export const usePreferences = () => useSyncExternalStore(preferences.subscribe, preferences.get)
