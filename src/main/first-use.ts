import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Logger } from 'pino'
import {
  findAdministrator,
  hashPassword,
  listAdministrators,
  passwordMatches,
  putAdministrator,
} from '../admins/administrators.ts'
import { makeSignInLink, signInUrl } from '../admins/sessions.ts'
import { addCompany } from '../companies/changes.ts'
import { listCompanies } from '../companies/companies.ts'
import { CommandFailed } from '../console/command.ts'
import { visibleText } from '../console/output.ts'
import type { Storage } from '../console/storage.ts'
import { capitalised } from '../console/words.ts'
import { giveToOwnerOf } from '../platform/postgres/embedded/index.ts'
import type { Config } from '../settings/config.ts'

/** Made by a start that finds no company or no administrator; null when there is one. */
type FirstUse = { apiKey: string | null; password: string | null }

export async function prepareFirstUse(config: Config, storage: Storage): Promise<FirstUse> {
  const password = await ensureAdministrator(config, storage)
  return { password, apiKey: await ensureDemoCompany(config, storage) }
}

/** Shows lines with secrets to the person who starts the gateway only. */
type SecretOutput = (lines: string[]) => Promise<void>

/**
 * Prints to a terminal. Without one, standard output usually goes to a log that is kept and read by others, so the lines are appended to
 * a file that only the owner can read. Appended, because a first start that was killed may have written its part already.
 */
export function secretOutput(
  { dataDir, ADMIN_USER }: Pick<Config, 'dataDir' | 'ADMIN_USER'>,
  first: FirstUse,
  isTerminal: boolean,
  log: Logger,
): SecretOutput {
  if (isTerminal) return async lines => lines.forEach(line => void console.log(visibleText(line)))
  const file = join(dataDir, 'first-start.txt')
  let logged = false
  return async lines => {
    if (lines.length === 0) return
    await appendPrivately(file, `${lines.join('\n')}\n`).catch(error => {
      throw new CommandFailed(notWritten(file, first, error as Error))
    })
    await giveToOwnerOf(dataDir, file)
    if (!logged) log.info(`${whatWasMade(ADMIN_USER, first)} in ${file}; read it, then delete it`)
    logged = true
  }
}

function whatWasMade(admin: string, { apiKey, password }: FirstUse): string {
  if (apiKey && password) return "First start: the API key and the administrator's password are"
  return password
    ? `There was no administrator, so ${admin} was made: the new password is`
    : 'There was no company, so demo was made: its API key is'
}

/** The database has hashes only, so the secrets cannot be shown later. */
function notWritten(file: string, { apiKey, password }: FirstUse, { message }: Error): string {
  const secrets = [...(apiKey ? ['The API key'] : []), ...(password ? ["the administrator's password"] : [])]
  const commands = [
    ...(password ? ['`email-gateway admin add NAME`'] : []),
    ...(apiKey ? ['`email-gateway key create --company demo`'] : []),
  ]
  const what = capitalised(secrets.join(' and '))
  return `${what} cannot be written to ${file} (${message}). Make new ones: ${commands.join(' and ')}.`
}

async function appendPrivately(file: string, text: string): Promise<void> {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
  // Non-blocking: opening a named pipe that was put there would wait for a reader.
  const handle = await open(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
  try {
    await refuseForeignFile(handle, dirname(file))
    await handle.chmod(0o600)
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Somebody else's file may be open for reading elsewhere, whatever its mode is now. */
async function refuseForeignFile(handle: FileHandle, folder: string): Promise<void> {
  const found = await handle.stat()
  const owners = [process.getuid?.() ?? found.uid, (await stat(folder)).uid]
  if (!found.isFile() || found.nlink > 1 || !owners.includes(found.uid) || (found.mode & 0o077) !== 0)
    throw new Error('it was there already, and is not a private file of this user')
}

export function secretLines({ ADMIN_USER }: Pick<Config, 'ADMIN_USER'>, { apiKey, password }: FirstUse): string[] {
  if (!apiKey && !password) return []
  return [
    '',
    `  ${apiKey && password ? 'Welcome to Email Gateway.' : 'Made by this start, because there was none.'} These secrets are shown only this once.`,
    '',
    ...(apiKey ? ['  Company         demo', `  API key         ${apiKey}`] : []),
    ...(password ? [`  Administrator   ${ADMIN_USER}`, `  Password        ${password}`] : []),
    '',
  ]
}

/** Signs the first administrator in once; null when this is not the first start, or no API is running here. */
export async function firstSignInUrl(
  { ADMIN_USER, PUBLIC_URL }: Pick<Config, 'ADMIN_USER' | 'PUBLIC_URL'>,
  { db }: Storage,
  { apiKey, password }: FirstUse,
  url: string,
): Promise<string | null> {
  if (!url || (!apiKey && !password)) return null
  const token = await makeSignInLink(db.pool, ADMIN_USER, 'gateway')
  return token && signInUrl(PUBLIC_URL ?? url, token)
}

export function signInLines(url: string | null): string[] {
  return url ? ['  Open the admin UI, signed in (this link works once, within an hour):', '', url, ''] : []
}

/** `captured`: nothing leaves the machine. */
export function firstCurl(url: string, { apiKey }: FirstUse, captured: boolean): string[] {
  if (!apiKey || !url) return []
  return [
    '',
    '  Send your first e-mail:',
    '',
    `curl -sS ${url}/v1/email/send -H 'X-API-Key: ${apiKey}' -H 'Content-Type: application/json' \\`,
    `  -d '{"to":"maria@example.com","subject":"Hello","html":"<p>It works.</p>"}'`,
    '',
    captured ? `  and look at it: ${url}/admin/inbox` : '  (to an address of yours: the provider really sends it)',
    '',
  ]
}

/** ADMIN_PASSWORD is applied at every start. Without it, an embedded gateway generates a password once, which is returned. */
async function ensureAdministrator(config: Config, { db, onlyGateway }: Storage): Promise<string | null> {
  const { ADMIN_USER: name, ADMIN_PASSWORD: given } = config
  if (given) {
    const stored = await findAdministrator(db.pool, name)
    if (!stored || !(await passwordMatches(given, stored.passwordHash)))
      await putAdministrator(db.pool, name, await hashPassword(given))
    return null
  }
  if (!onlyGateway || (await listAdministrators(db.pool)).length > 0) return null
  const password = randomBytes(15).toString('base64url')
  await putAdministrator(db.pool, name, await hashPassword(password))
  return password
}

async function ensureDemoCompany(config: Config, storage: Storage): Promise<string | null> {
  if (!storage.onlyGateway || (await listCompanies(storage.db.pool)).length > 0) return null
  const added = await addCompany(storage.db, config.hashPepper, { name: 'demo' }, { performedBy: 'gateway' })
  return added?.apiKey ?? null
}
