import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { hashPassword, passwordMatches } from '../contracts/password.ts'
import { findAdministrator, listAdministrators, putAdministrator } from '../db/administrators.ts'
import { listCompanies } from '../db/companies.ts'
import { giveToOwnerOf } from '../db/embedded/index.ts'
import { registerCompany } from '../db/registration.ts'
import type { Storage } from '../main-storage.ts'
import { CommandFailed } from './command.ts'
import { visibleText } from './terminal.ts'

/** Made by the very first start only; null where it exists already. */
export type FirstUse = { apiKey: string | null; password: string | null }

export async function prepareFirstUse(config: Config, storage: Storage): Promise<FirstUse> {
  const password = await ensureAdministrator(config, storage)
  return { password, apiKey: await ensureDemoCompany(config, storage) }
}

/** Shows lines with secrets to whoever starts the gateway, and to nobody else. */
export type SecretScreen = (lines: string[]) => Promise<void>

/**
 * On a terminal they are printed. Anywhere else, what is printed ends in a log that others read and that is kept: they go to
 * a file for the owner only. It is added to, since a first start that was killed half-way has its part in it already.
 */
export function secretScreen({ dataDir }: Pick<Config, 'dataDir'>, isTerminal: boolean, log: Logger): SecretScreen {
  if (isTerminal) return async lines => lines.forEach(line => void console.log(visibleText(line)))
  const file = join(dataDir, 'first-start.txt')
  let told = false
  return async lines => {
    if (lines.length === 0) return
    await appendPrivately(file, `${lines.join('\n')}\n`).catch(error => {
      throw new CommandFailed(notWritten(file, error as Error))
    })
    await giveToOwnerOf(dataDir, file)
    if (!told)
      log.info(`First start: the API key and the administrator's password are in ${file}; read it, then delete it`)
    told = true
  }
}

/** What was made is in the database as a hash only: nobody can show it again. */
const notWritten = (file: string, { message }: Error) =>
  `The first API key and the administrator's password cannot be written to ${file} (${message}). Make new ones: ` +
  '`email-gateway admin add NAME` and `email-gateway key create --company demo`.'

async function appendPrivately(file: string, text: string): Promise<void> {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants
  const handle = await open(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)
  try {
    await handle.chmod(0o600)
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** What a newcomer needs, shown once. */
export function secretLines({ ADMIN_USER }: Pick<Config, 'ADMIN_USER'>, { apiKey, password }: FirstUse): string[] {
  if (!apiKey && !password) return []
  return [
    '',
    '  Welcome to Email Gateway. What follows is shown only this once.',
    '',
    ...(apiKey ? ['  Company         demo', `  API key         ${apiKey}`] : []),
    ...(password ? [`  Administrator   ${ADMIN_USER}`, `  Password        ${password}`] : []),
    '',
  ]
}

export function firstCurl(url: string, { apiKey }: FirstUse): string[] {
  if (!apiKey || !url) return []
  return [
    '',
    '  Send your first e-mail:',
    '',
    `curl -sS ${url}/v1/email/send -H 'X-API-Key: ${apiKey}' -H 'Content-Type: application/json' \\`,
    `  -d '{"to":"maria@example.com","subject":"Hello","html":"<p>It works.</p>"}'`,
    '',
    `  and look at it: ${url}/admin/inbox`,
    '',
  ]
}

/** ADMIN_PASSWORD counts whenever it is set; without it, the embedded gateway makes one. Answers a password that was made. */
async function ensureAdministrator(config: Config, { db, alone }: Storage): Promise<string | null> {
  const { ADMIN_USER: name, ADMIN_PASSWORD: given } = config
  if (given) {
    const known = await findAdministrator(db.pool, name)
    if (!known || !(await passwordMatches(given, known.passwordHash)))
      await putAdministrator(db.pool, name, await hashPassword(given))
    return null
  }
  if (!alone || (await listAdministrators(db.pool)).length > 0) return null
  const made = randomBytes(15).toString('base64url')
  await putAdministrator(db.pool, name, await hashPassword(made))
  return made
}

async function ensureDemoCompany(config: Config, storage: Storage): Promise<string | null> {
  if (!storage.alone || (await listCompanies(storage.db.pool)).length > 0) return null
  const { apiKey } = await registerCompany(storage.db, config.hashPepper, { name: 'demo' })
  return apiKey
}
