import type { companies as en } from '../en/companies.ts'
import type { SameKeys } from '../same-keys.ts'

export const companies: SameKeys<typeof en> = {
  title: 'Empresas',
  company: 'Empresa',
  state: 'Situação',
  sent: 'Enviados, 24 h',
  bounces: 'Devoluções',
  complaints: 'Denúncias',
  states: { active: 'Ativa', warned: 'Em alerta', paused: 'Pausada' },
  empty: 'Nenhuma empresa ainda',
  emptyHint: 'Uma empresa é criada aqui ou com este comando; a chave de API é mostrada uma única vez.',
}
