import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { childEnvironment } from '../config.ts'
import { type Answer, CommandFailed } from './command.ts'

/** Runs psql on this terminal until it exits. An embedded server runs for as long as the caller keeps its storage open. */
export async function openShell(url: string, args: string[]): Promise<Answer> {
  const { address, password } = withoutPassword(url)
  const env = childEnvironment(password === undefined ? {} : { PGPASSWORD: password })
  const child = spawn('psql', [address, ...args], { stdio: 'inherit', env })
  // Ctrl-C cancels a query in psql; it must not end this process.
  const ignore = () => {}
  process.on('SIGINT', ignore)
  try {
    const [code] = (await once(child, 'exit')) as [number | null]
    return { json: null, lines: [], exitCode: code === 0 ? 0 : 1 }
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error
    throw new CommandFailed(
      'psql is not installed. Install it (Debian: apt-get install postgresql-client), or connect with another program to what this prints: email-gateway db url',
    )
  } finally {
    process.off('SIGINT', ignore)
  }
}

/** Every user of the machine can see arguments with `ps`, but not the environment. */
export function withoutPassword(url: string): { address: string; password: string | undefined } {
  const parsed = new URL(url)
  const password = parsed.searchParams.get('password') ?? decodeURIComponent(parsed.password)
  parsed.password = ''
  // uselibpqcompat is an option of node-postgres; psql refuses unknown options.
  for (const name of ['password', 'uselibpqcompat']) removeParameter(parsed, name)
  return { address: parsed.href, password: password === '' ? undefined : password }
}

/** URLSearchParams encodes a space as "+", which libpq reads as a plus sign. */
export function removeParameter(url: URL, name: string): void {
  if (!url.searchParams.has(name)) return
  url.searchParams.delete(name)
  url.search = url.search.replaceAll('+', '%20')
}
