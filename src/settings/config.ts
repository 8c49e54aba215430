import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { missingSetting, PROVIDER_NAMES, type Settings, settingsSchema } from './settings.ts'

/** A wrong or missing setting. The message names the variable, so it is printed without a stack. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

export type Secrets = { encryptionKeys: string[]; hashPepper: string }
/** For commands that neither hash nor encrypt. */
export type ReadingConfig = Settings & { dataDir: string }
export type Config = ReadingConfig & Secrets

/** An empty variable counts as not set, as in a copied .env.example. */
export function readSettings(env: NodeJS.ProcessEnv = process.env): Settings {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const parsed = settingsSchema.safeParse(given)
  if (parsed.success) return parsed.data
  const sentences = parsed.error.issues.map(issue => `${issue.path.join('.')}: ${issue.message}`)
  throw new ConfigError(`Bad setting. ${sentences.join('. ')}.`)
}

/** Loads `.env` of the working directory; variables of the environment take precedence. Returns the file's path. */
export function loadEnvFile(): string | null {
  const file = resolve('.env')
  // A Python virtual environment is often a folder of this name.
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return null
  try {
    process.loadEnvFile(file)
    return file
  } catch (error) {
    throw new ConfigError(`${file} cannot be read (${(error as Error).message}).`)
  }
}

/** Without secrets, so that read-only commands need nothing but DATABASE_URL. */
export function loadReadingConfig(env: NodeJS.ProcessEnv = process.env): ReadingConfig {
  const settings = readSettings(env)
  requireProviderSettings(settings)
  requireSmtpCertificate(settings)
  return { ...settings, dataDir: resolve(settings.DATA_DIR) }
}

/** `secrets`: whether missing secrets of an embedded gateway are generated. Only `start` and `migrate` do that. */
export function loadConfig(env: NodeJS.ProcessEnv = process.env, secrets: 'make' | 'find' = 'make'): Config {
  const config = loadReadingConfig(env)
  if (secrets === 'make' && !config.DATABASE_URL) withConfigError(() => makeSecrets(config.dataDir))
  const { found, missing } = findConfiguredSecrets(config)
  if (found) return { ...config, ...found }
  throw new ConfigError(
    config.DATABASE_URL ? missingSecrets(config, missing, secrets) : noGatewayMessage(config.dataDir),
  )
}

/** Later versions of the AWS SDK need Node 22, and this one warns of it at every start; operators cannot act on that. */
export function silenceAwsSdkWarning(env: NodeJS.ProcessEnv = process.env): void {
  env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'
}

/** For `demo`, which has a database of its own and refuses to run where another one is named. */
export const namesDatabase = (env: NodeJS.ProcessEnv = process.env): boolean => Boolean(env.DATABASE_URL)

/** The role that commands connect as, for messages; null without DATABASE_URL, or if it names none. */
export function databaseRole(env: NodeJS.ProcessEnv = process.env): string | null {
  const url = env.DATABASE_URL ?? ''
  return URL.canParse(url) ? decodeURIComponent(new URL(url).username) || null : null
}

/** The environment of a child process. */
export function childEnvironment(
  more: Record<string, string>,
  env: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv {
  return { ...env, ...more }
}

function requireProviderSettings(settings: Settings): void {
  for (const name of PROVIDER_NAMES.filter(name => settings.EMAIL_PROVIDER.includes(name))) {
    const missing = missingSetting(name, settings)
    if (missing)
      throw new ConfigError(
        `Missing setting. With EMAIL_PROVIDER=${settings.EMAIL_PROVIDER.join(',')}, ${missing} must be set.`,
      )
  }
}

function requireSmtpCertificate({ SMTP_TLS_CERT, SMTP_TLS_KEY, SMTP_INGRESS_TLS }: Settings): void {
  if ((SMTP_TLS_CERT === undefined) !== (SMTP_TLS_KEY === undefined))
    throw new ConfigError('Missing setting. SMTP_TLS_CERT and SMTP_TLS_KEY must be set together.')
  if (SMTP_INGRESS_TLS === 'implicit' && SMTP_TLS_CERT === undefined)
    throw new ConfigError(
      'Missing setting. With SMTP_INGRESS_TLS=implicit, SMTP_TLS_CERT and SMTP_TLS_KEY must be set.',
    )
}

/** From the environment, else from DATA_DIR of an embedded gateway. Generates nothing. */
export function findConfiguredSecrets(config: ReadingConfig): { found: Secrets | null; missing: string[] } {
  const stored = config.DATABASE_URL ? null : withConfigError(() => findSecrets(config.dataDir))
  const encryptionKey = config.ENCRYPTION_KEY ?? stored?.encryptionKey
  const hashPepper = config.HASH_PEPPER ?? stored?.hashPepper
  if (encryptionKey !== undefined && hashPepper !== undefined)
    return { found: { encryptionKeys: encryptionKey.split(','), hashPepper }, missing: [] }
  const missing = [
    ...(encryptionKey === undefined ? ['ENCRYPTION_KEY'] : []),
    ...(hashPepper === undefined ? ['HASH_PEPPER'] : []),
  ]
  return { found: null, missing }
}

/** How to make secrets is explained only to the commands that may create a database: an existing one has its secrets already. */
function missingSecrets(config: ReadingConfig, missing: string[], secrets: 'make' | 'find'): string {
  const which =
    secrets === 'make'
      ? 'the same for every process; for a new database, make one with: openssl rand -hex 32.'
      : 'to what the running gateway of this database has: others are refused.'
  const sentence = `Missing setting. With DATABASE_URL, ${missing.join(' and ')} must be set, ${which}`
  // Such as after `export DATABASE_URL=$(email-gateway db url)` for another program.
  return hasSecrets(config.dataDir)
    ? `${sentence} DATABASE_URL is set in this shell or in .env: for the gateway in ${config.dataDir}, which has a database of its own, unset DATABASE_URL.`
    : sentence
}

export const noGatewayMessage = (dataDir: string) =>
  `There is no gateway in ${dataDir} yet: start it (email-gateway start), or run: email-gateway migrate. DATA_DIR and DATABASE_URL name another one.`

/** A secrets file that cannot be read or written is reported like a wrong DATA_DIR. */
function withConfigError<T>(action: () => T): T {
  try {
    return action()
  } catch (error) {
    throw error instanceof SecretsError ? new ConfigError(error.message) : error
  }
}

export const ROLES = ['all', 'api', 'worker'] as const
export type Role = (typeof ROLES)[number]

export type StoredSecrets = { encryptionKey: string; hashPepper: string }

/** DATA_DIR or the secrets file in it cannot be used; the message says why. */
export class SecretsError extends Error {
  override name = 'SecretsError'
}

/** For the embedded database: secrets are generated once and stored beside its data, readable by the owner only. */
export function makeSecrets(dataDir: string): StoredSecrets {
  return findSecrets(dataDir) ?? read(makeOnce(dataDir, fileOf(dataDir)), fileOf(dataDir))
}

/** null: none were generated yet. */
export function findSecrets(dataDir: string): StoredSecrets | null {
  const text = readIfExists(fileOf(dataDir))
  return text === null ? null : read(text, fileOf(dataDir))
}

/** Whether there is an embedded gateway in this folder. */
export const hasSecrets = (dataDir: string) => existsSync(fileOf(dataDir))

const fileOf = (dataDir: string) => join(dataDir, 'secrets.json')

function read(text: string, file: string): StoredSecrets {
  const secrets = parse(text)
  if (secrets) return secrets
  throw new SecretsError(
    `${file} is damaged; it holds the keys of everything encrypted and hashed: restore it from a backup.`,
  )
}

function readIfExists(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw new SecretsError(`DATA_DIR: ${file} cannot be read (${message}).`)
  }
}

/** Written under a temporary name and linked: of two first starts at the same time, one file wins and both use it. */
function makeOnce(dataDir: string, file: string): string {
  const secrets = { encryptionKey: randomBytes(32).toString('hex'), hashPepper: randomBytes(32).toString('hex') }
  const draft = `${file}.${process.pid}-${randomBytes(4).toString('hex')}`
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o711 })
    const descriptor = openSync(draft, 'wx', 0o600)
    writeSync(descriptor, `${JSON.stringify(secrets, null, 2)}\n`)
    fsyncSync(descriptor)
    closeSync(descriptor)
    linkSync(draft, file)
  } catch (error) {
    const { code, message, syscall } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST' || syscall !== 'link')
      throw new SecretsError(`DATA_DIR: ${dataDir} cannot be written (${message}).`)
  } finally {
    rmSync(draft, { force: true })
  }
  return readFileSync(file, 'utf8')
}

function parse(text: string): StoredSecrets | null {
  try {
    const { encryptionKey, hashPepper } = JSON.parse(text) as Partial<StoredSecrets>
    const isComplete = /^[0-9a-f]{64}$/.test(encryptionKey ?? '') && (hashPepper ?? '').length >= 32
    return isComplete ? { encryptionKey: encryptionKey!, hashPepper: hashPepper! } : null
  } catch {
    return null
  }
}
