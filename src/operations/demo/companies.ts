import type { CompanyChange } from '../../companies/companies.ts'

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

/** `share`: how much of the traffic is its own. `domain`: where its recipients are, if all at one place. */
export type DemoCompany = { name: string; share: number; domain?: string; settings: CompanyChange; mail: DemoMail[] }
type DemoMail = { templateType: string; subject: string; html: string; tag: string }

const WHY = {
  en: 'you get this e-mail because you have an account with us.',
  'pt-BR': 'você recebeu este e-mail porque tem cadastro conosco.',
}

const page = (locale: keyof typeof WHY, title: string, body: string, button: string) =>
  `<div style="font-family:Helvetica,Arial,sans-serif;max-width:560px;margin:auto;padding:24px;color:#1b2733"><h1 style="font-size:22px">${title}</h1><p style="line-height:1.6">${body}</p><p><a href="https://app.example/{{ order.number }}" style="background:#1c64b4;color:#fff;padding:10px 18px;border-radius:6px;text-decoration:none">${button}</a></p><p style="color:#5b6b7b;font-size:13px">{{ user.name }}, ${WHY[locale]}</p></div>`

const MAIL = {
  orderSent: {
    templateType: 'order_sent',
    subject: 'Order {{ order.number }} is on its way',
    html: page(
      'en',
      'Your parcel has left',
      'Hello {{ user.name }}, order <b>{{ order.number }}</b> left our warehouse today.',
      'Follow the parcel',
    ),
    tag: 'order',
  },
  newPassword: {
    templateType: 'new_password',
    subject: 'Your new password',
    html: page(
      'en',
      'Choose a new password',
      'Hello {{ user.name }}, the link below works for one hour.',
      'Choose a password',
    ),
    tag: 'account',
  },
  pedidoEnviado: {
    templateType: 'pedido_enviado',
    subject: 'O pedido {{ order.number }} está a caminho',
    html: page(
      'pt-BR',
      'Seu pedido saiu',
      'Olá, {{ user.name }}! O pedido <b>{{ order.number }}</b> saiu hoje do nosso depósito.',
      'Acompanhar a entrega',
    ),
    tag: 'pedido',
  },
  boleto: {
    templateType: 'boleto',
    subject: 'Boleto {{ order.number }} vence em três dias',
    html: page(
      'pt-BR',
      'Seu boleto chegou',
      'Olá, {{ user.name }}! O boleto <b>{{ order.number }}</b>, de R$ {{ order.amount }}, vence em três dias.',
      'Ver o boleto',
    ),
    tag: 'boleto',
  },
  novaSenha: {
    templateType: 'nova_senha',
    subject: 'Sua nova senha',
    html: page(
      'pt-BR',
      'Escolha uma nova senha',
      'Olá, {{ user.name }}! O link abaixo vale por uma hora.',
      'Escolher a senha',
    ),
    tag: 'conta',
  },
  recibo: {
    templateType: 'recibo',
    subject: 'Recibo do pedido {{ order.number }}',
    html: page(
      'pt-BR',
      'Obrigado pela compra',
      '{{ user.name }}, recebemos R$ {{ order.amount }} pelo pedido <b>{{ order.number }}</b>.',
      'Ver o recibo',
    ),
    tag: 'recibo',
  },
} as const satisfies Record<string, DemoMail>

/** Of different weight and volume, so that fairness has something to do. Each writes in its own language. */
export const DEMO_COMPANIES: DemoCompany[] = [
  {
    name: 'Loja Aurora',
    share: 46,
    settings: { weight: 5, locale: 'pt-BR' },
    mail: [MAIL.pedidoEnviado, MAIL.recibo, MAIL.boleto],
  },
  {
    name: 'Banco Horizonte',
    share: 26,
    settings: { weight: 10, locale: 'pt-BR', retryPolicy: 'exponential' },
    mail: [MAIL.boleto, MAIL.novaSenha],
  },
  {
    name: 'Clínica Vida',
    share: 12,
    settings: { weight: 2, locale: 'pt-BR' },
    mail: [MAIL.recibo, MAIL.novaSenha],
  },
  {
    name: 'Clube Ofertas',
    share: 9,
    domain: OLD_LIST_DOMAIN,
    settings: { ratePerSecond: 2, locale: 'pt-BR' },
    mail: [MAIL.pedidoEnviado],
  },
  { name: 'Padaria do Zé', share: 4, settings: { locale: 'pt-BR' }, mail: [MAIL.recibo] },
  { name: 'acme', share: 3, settings: { locale: 'en' }, mail: [MAIL.orderSent, MAIL.newPassword] },
]

/** Somebody has paused it. */
export const PAUSED_COMPANY = 'Padaria do Zé'
