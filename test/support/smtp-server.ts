import { Writable } from 'node:stream'
import { KeyRegistry, keyVerifier } from '../../src/companies/require-key.ts'
import {
  SMTP_LIMITS,
  type SmtpDeps,
  type SmtpLimits,
  type SmtpOptions,
  startSmtpServer,
} from '../../src/doors/smtp/server.ts'
import { makeAccept } from '../../src/pipeline/accept/compose.ts'
import { HtmlChecker } from '../../src/platform/html/check.ts'
import { makeLog } from '../../src/platform/telemetry/log.ts'
import { NO_TRACING } from '../../src/platform/telemetry/tracing.ts'
import { loadConfig } from '../../src/settings/config.ts'
import type { TestGateway } from './gateway.ts'
import { SHARED_SECRETS } from './secrets.ts'

export type TestSmtp = { port: number; stop: () => Promise<void> }
export type TestSmtpOptions = Partial<SmtpOptions> & {
  limits?: Partial<SmtpLimits>
  /** Waits for this before an e-mail is written. */
  beforeWrite?: () => Promise<void>
}

/** Another SMTP server on the database of a gateway, with limits that a test can reach. */
export async function startTestSmtp(gateway: TestGateway, options: TestSmtpOptions = {}): Promise<TestSmtp> {
  const { limits, beforeWrite = async () => {}, ...given } = options
  const config = loadConfig({ DATABASE_URL: gateway.databaseUrl, ...SHARED_SECRETS })
  const html = new HtmlChecker(config.hashPepper)
  const keys = new KeyRegistry(gateway.db.pool)
  const accept = makeAccept(config, gateway.db, html, () => {})
  const deps: SmtpDeps = {
    verify: keyVerifier(keys, config.hashPepper, 'send'),
    tokens: { add: () => Promise.reject(new Error('no company of these tests has a rate')) },
    accept: { ...accept, write: request => beforeWrite().then(() => accept.write(request)) },
    onMessage: () => {},
    tracing: NO_TRACING,
    log: makeLog({ level: 'silent', pretty: false, destination: new Writable({ write: (_c, _e, done) => done() }) }),
  }
  const server = await startSmtpServer({ host: '127.0.0.1', port: 0, tls: null, ...given }, deps, {
    ...SMTP_LIMITS,
    ...limits,
  })
  return {
    port: server.port,
    async stop() {
      await server.stop()
      await keys.close()
      await html.close()
    },
  }
}
