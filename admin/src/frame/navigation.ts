import {
  type Icon,
  IconBan,
  IconBuilding,
  IconGauge,
  IconHistory,
  IconInbox,
  IconMail,
  IconMailX,
  IconServer2,
  IconTemplate,
  IconWebhook,
} from '@tabler/icons-react'
import { type Role, useMay } from '../api/session.ts'

/** `role`: at least this one; others find nothing there. */
type NavigationEntry = { to: string; text: NavigationText; icon: Icon; role?: Role }
type NavigationText =
  | 'overview'
  | 'emails'
  | 'deadLetters'
  | 'suppression'
  | 'companies'
  | 'templates'
  | 'webhooks'
  | 'providers'
  | 'inbox'
  | 'audit'

/** The views in the order of the menu. */
const NAVIGATION = [
  { to: '/', text: 'overview', icon: IconGauge },
  { to: '/emails', text: 'emails', icon: IconMail },
  { to: '/dead-letters', text: 'deadLetters', icon: IconMailX },
  { to: '/suppression', text: 'suppression', icon: IconBan },
  { to: '/companies', text: 'companies', icon: IconBuilding },
  { to: '/templates', text: 'templates', icon: IconTemplate },
  { to: '/webhooks', text: 'webhooks', icon: IconWebhook },
  { to: '/providers', text: 'providers', icon: IconServer2 },
  { to: '/inbox', text: 'inbox', icon: IconInbox, role: 'support' },
  { to: '/audit', text: 'audit', icon: IconHistory },
] as const satisfies NavigationEntry[]

/** Those that the person who is signed in may use. */
export function useNavigation(): NavigationEntry[] {
  const maySupport = useMay('support')
  return NAVIGATION.filter(entry => !('role' in entry) || maySupport)
}
