/** Its mail is retried until it is a dead letter. */
export const DEAD_MAILBOX = 'financeiro@servidor-desligado.example'
/** Nobody answers whether its mail was taken. */
export const SILENT_MAILBOX = 'contato@servidor-mudo.example'
/** Addresses that nobody has cleaned up: many bounce, some complain. */
export const OLD_LIST_DOMAIN = 'lista-antiga.example'

const FIRST = 'Maria João Ana Pedro Beatriz Lucas Júlia Rafael Larissa Thiago Camila Bruno Sofia Mateus Helena'.split(
  ' ',
)
const LAST = 'Silva Souza Oliveira Santos Pereira Lima Costa Almeida Ribeiro Carvalho Gomes Araújo'.split(' ')
const DOMAINS = ['example.com', 'correio.example', 'empresa.example', 'example.org']

export type Person = { name: string; email: string }

export function somebody(random: () => number, domain = one(DOMAINS, random)): Person {
  const [first, last] = [one(FIRST, random), one(LAST, random)]
  return { name: `${first} ${last}`, email: `${plain(first)}.${plain(last)}${Math.floor(random() * 900)}@${domain}` }
}

export const one = <T>(list: readonly T[], random: () => number): T => list[Math.floor(random() * list.length)]!

const plain = (name: string) => name.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
