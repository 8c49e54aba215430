import type { sessions as en } from '../en/sessions.ts'
import type { SameKeys } from '../same-keys.ts'

export const sessions: SameKeys<typeof en> = {
  title: 'Sessões',
  subtitle: 'Onde você está conectado a esta interface.',
  subtitleEverybody: 'Onde cada pessoa está conectada a esta interface.',
  of: 'Sessões de quem',
  mine: 'Minhas',
  everybody: 'De todos',
  name: 'Nome',
  browser: 'Navegador',
  unknown: 'Navegador desconhecido',
  current: 'esta sessão',
  address: 'Endereço',
  lastSeen: 'Visto por último',
  signedIn: 'Entrou',
  expires: 'Termina',
  action: 'Ação',
  end: 'Encerrar sessão',
  endOne: 'Encerrar a sessão escolhida',
  endAll: 'Sair de todos os lugares',
  endConsequence: 'Este navegador de {{name}} terá de entrar de novo.',
  endAllConsequence: 'Todas as suas sessões terminam, esta também. Você terá de entrar de novo.',
  ended_one: '{{count, number}} sessão encerrada',
  ended_other: '{{count, number}} sessões encerradas',
  empty: 'Nenhuma sessão',
  emptyHint: 'Entrar nesta interface abre uma sessão. Scripts que enviam nome e senha não têm sessão.',
}
