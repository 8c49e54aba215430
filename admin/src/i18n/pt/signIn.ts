import type { signIn as en } from '../en/signIn.ts'
import type { SameKeys } from '../same-keys.ts'

export const signIn: SameKeys<typeof en> = {
  title: 'Entrar',
  name: 'Nome',
  password: 'Senha',
  show: 'Mostrar o que digito',
  submit: 'Entrar',
  wrong: 'O nome ou a senha não está correto.',
  tooMany_one: 'Tentativas demais. Tente de novo em {{count}} segundo.',
  tooMany_other: 'Tentativas demais. Tente de novo em {{count}} segundos.',
  mayTry: 'Você já pode tentar de novo.',
  byLink: 'Entrando…',
  linkInvalid: 'Este link já foi usado ou expirou. Entre com sua senha ou crie outro link.',
  again: 'Sua sessão terminou. Entre para continuar de onde parou.',
  help: 'Administradores são criados com “npx email-gateway admin add NOME”.',
}
