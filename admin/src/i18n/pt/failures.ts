import { problems } from './problems.ts'

/** Why an e-mail was not sent, for the codes that the gateway itself gives. English needs none: the gateway's own words are English. */
export const failures: Record<string, string> = {
  INVALID_PAYLOAD: 'O e-mail não está completo',
  OUTBOX_NOT_FOUND: 'O e-mail não existe mais',
  RECIPIENT_NOT_FOUND: problems.RECIPIENT_NOT_FOUND,
  INVALID_EMAIL: problems.INVALID_EMAIL,
  FROM_NOT_ALLOWED: problems.FROM_NOT_ALLOWED,
  INVALID_TEMPLATE: problems.INVALID_TEMPLATE,
  TEMPLATE_NOT_FOUND: problems.TEMPLATE_NOT_FOUND,
  TEMPLATE_VARIABLE_MISSING: problems.TEMPLATE_VARIABLE_MISSING,
  RECIPIENT_SUPPRESSED: problems.RECIPIENT_SUPPRESSED,
  SEND_OUTCOME_UNKNOWN: 'Não se soube se o provedor aceitou a mensagem',
  EXPIRED: 'O e-mail não foi enviado dentro do prazo',
  ATTEMPTS_EXHAUSTED: 'As tentativas acabaram',
  NETWORK_ERROR: 'A conexão com o provedor falhou',
  WORKER_LOST: 'O processo que enviava o e-mail parou',
}
