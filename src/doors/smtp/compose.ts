import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { Logger } from 'pino'
import { type Config, ConfigError } from '../../settings/config.ts'
import { CannotListen } from '../../web/cannot-listen.ts'
import { isLoopback, type SmtpDeps, type SmtpOptions, type SmtpServer } from './server.ts'

/** Listens for SMTP when SMTP_INGRESS_PORT is set; the server is loaded only then. */
export async function startSmtp(config: Config, deps: SmtpDeps): Promise<SmtpServer | null> {
  if (config.SMTP_INGRESS_PORT === undefined) return null
  const options = { host: config.HOST, port: config.SMTP_INGRESS_PORT, tls: tlsOf(config) }
  warnWithoutTls(options, deps.log)
  const { startSmtpServer } = await import('./server.ts')
  try {
    return await startSmtpServer(options, deps)
  } catch (error) {
    throw new CannotListen('SMTP_INGRESS_PORT', error as Error)
  }
}

function warnWithoutTls({ host, tls }: SmtpOptions, log: Logger): void {
  if (tls || isLoopback(host) || host === 'localhost') return
  log.warn('SMTP has no certificate (SMTP_TLS_CERT, SMTP_TLS_KEY): only programs of this machine can log in')
}

function tlsOf(config: Config): SmtpOptions['tls'] {
  const { SMTP_TLS_CERT, SMTP_TLS_KEY, SMTP_INGRESS_TLS } = config
  if (!SMTP_TLS_CERT || !SMTP_TLS_KEY) return null
  const certificate = readSetting('SMTP_TLS_CERT', SMTP_TLS_CERT)
  const key = readSetting('SMTP_TLS_KEY', SMTP_TLS_KEY)
  try {
    createSecureContext({ cert: certificate, key })
  } catch (error) {
    const reason = (error as Error).message
    throw new ConfigError(`Bad setting. SMTP_TLS_CERT, SMTP_TLS_KEY: are no certificate with its key (${reason}).`)
  }
  return { mode: SMTP_INGRESS_TLS, certificate, key }
}

function readSetting(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`Bad setting. ${name}: ${file} cannot be read (${(error as Error).message}).`)
  }
}
