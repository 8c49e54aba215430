import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { childEnvironment } from '../config.ts'
import { type Answer, CommandFailed } from './command.ts'

/** psql on this terminal until it ends. The embedded server stays as long as the caller keeps its storage open. */
export async function openShell(url: string, args: string[]): Promise<Answer> {
  const { address, password } = withoutPassword(url)
  const env = childEnvironment(password === undefined ? {} : { PGPASSWORD: password })
  const child = spawn('psql', [address, ...args], { stdio: 'inherit', env })
  // Ctrl-C is for psql, which ends a query with it and not itself.
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

/** Arguments are shown to every user of the machine by `ps`, the environment of a process is not. */
export function withoutPassword(url: string): { address: string; password: string | undefined } {
  const parsed = new URL(url)
  const password = parsed.searchParams.get('password') ?? decodeURIComponent(parsed.password)
  parsed.password = ''
  // The second is an option of node-postgres alone, and psql refuses what it does not know.
  for (const name of ['password', 'uselibpqcompat']) if (parsed.searchParams.has(name)) remove(parsed, name)
  return { address: parsed.href, password: password === '' ? undefined : password }
}

/** URLSearchParams writes a space as "+", which libpq takes for a plus. */
function remove(url: URL, name: string): void {
  url.searchParams.delete(name)
  url.search = url.search.replaceAll('+', '%20')
}
