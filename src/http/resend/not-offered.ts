import type { FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { MAX_PARAM_LENGTH } from '../limits.ts'
import { Problem } from '../problem.ts'

const NO_CONTACTS = 'The gateway sends transactional e-mail and keeps no contacts.'
const NO_RECEIVING = 'The gateway receives no e-mail.'
const EVENTS = 'The events of an e-mail are at GET /v1/email/:outboxId.'
const FIGURES = 'The figures of the gateway are at GET /metrics.'

/** Every path of the SDK, and what there is instead of the calls below it that are not offered. */
const INSTEAD: Readonly<Record<string, string>> = {
  '/api-keys': 'Make a new key and revoke the old one.',
  '/audiences': NO_CONTACTS,
  '/automations': 'The gateway runs no automations.',
  '/broadcasts': 'POST /emails/batch takes up to 100 e-mails.',
  '/contact-properties': NO_CONTACTS,
  '/contacts': NO_CONTACTS,
  '/domains':
    'Domains can be added, read, verified and removed; the gateway tracks nothing, and TLS is up to the provider.',
  '/emails': 'The native routes of an e-mail are below /v1/email.',
  '/emails/metrics': FIGURES,
  '/emails/receiving': NO_RECEIVING,
  '/events': EVENTS,
  '/inboxes': NO_RECEIVING,
  '/logs': EVENTS,
  '/oauth': 'The gateway knows API keys only.',
  '/segments': NO_CONTACTS,
  '/suppressions':
    'The gateway holds hashes of addresses and cannot list them. GET /suppressions/:email and POST /v1/suppression/check answer for one address; DELETE /suppressions/:email removes one.',
  '/templates': 'The native routes of templates are below /v1/templates.',
  '/topics': NO_CONTACTS,
  '/usage': FIGURES,
  '/webhooks': 'Every delivery with its last attempt is at GET /v1/webhooks/:id/deliveries.',
}

/** For a URL that cannot be decoded, and so belongs to no route. */
export const isResendPath = (url: string) => Object.hasOwn(INSTEAD, `/${url.split(/[/?]/, 2)[1]}`)

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Called after the other routes of this scope: takes the methods and paths that they have left. */
export function resendNotOfferedRoutes(app: App): void {
  for (const [path, instead] of Object.entries(INSTEAD)) {
    for (const url of [path, `${path}/*`]) {
      const method = METHODS.filter(one => !app.hasRoute({ url, method: one }))
      app.route({ method, url, onRequest: refuse(instead), schema: { hide: true }, handler: unreachable })
    }
  }
}

/** Before the body is read. */
function refuse(instead: string) {
  return async ({ params }: FastifyRequest): Promise<void> => {
    // An id that is too long for the other routes arrives here.
    const rest = (params as { '*'?: string })['*'] ?? ''
    if (rest.split('/').some(part => part.length > MAX_PARAM_LENGTH)) throw new Problem('NOT_FOUND')
    throw new Problem('NOT_OFFERED', { detail: `The gateway does not offer this call of the Resend API. ${instead}` })
  }
}

function unreachable(): never {
  throw new Error('the onRequest hook refuses every request')
}
