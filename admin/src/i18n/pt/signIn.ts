import type { signIn as en } from '../en/signIn.ts'
import type { SameKeys } from '../same-keys.ts'

export const signIn: SameKeys<typeof en> = {
  title: 'Entrar',
  name: 'Nome',
  password: 'Senha',
  show: 'Mostrar o que digito',
  submit: 'Entrar',
  wrong: 'O nome ou a senha não está correto.',
  tooMany: 'Tentativas demais. Espere um momento e tente de novo.',
  again: 'Sua sessão terminou. Entre para continuar de onde parou.',
  help: 'Administradores são criados com “npx email-gateway admin create NOME”.',
}
