import { appendFile, chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createFolderAtomically } from './atomic-folder.ts'
import type { Binaries } from './binaries.ts'
import { codeOf, EmbeddedPostgresError } from './error.ts'
import { giveTo } from './folders.ts'
import { lastLine, run } from './run.ts'
import type { SavedState } from './saved-state.ts'
import { SETTINGS_FILE } from './settings.ts'
import type { ServerUser } from './user.ts'

/** The server of one DATA_DIR. */
export type Cluster = {
  dataDir: string
  directory: string
  user: ServerUser | undefined
  binaries: Binaries
  saved: SavedState
  settings: Record<string, string>
  logInfo: (line: string) => void
  /** For problems that the operator has to solve. */
  logError: (line: string) => void
}

export async function ensureCluster(cluster: Cluster): Promise<void> {
  refuseShellCharacters(cluster.directory)
  await createFolderAtomically({
    target: cluster.directory,
    isComplete: async () => (await versionOf(cluster.directory)) !== undefined,
    create: draft => initialize(cluster, draft),
  }).catch(error => {
    throw codeOf(error) === 'ENOTEMPTY' ? notEmpty(cluster.directory) : error
  })
  const version = await versionOf(cluster.directory)
  if (version === cluster.binaries.major) return
  throw new EmbeddedPostgresError(
    `The database in ${cluster.directory} was created by Postgres ${version} and this gateway contains Postgres ${cluster.binaries.major}: keep the gateway version that created it, dump with pg_dump while that one runs, and restore the dump into a new DATA_DIR.`,
  )
}

async function versionOf(directory: string): Promise<string | undefined> {
  const text = await readFile(join(directory, 'PG_VERSION'), 'utf8').catch(() => undefined)
  return text?.trim()
}

/** pg_ctl passes the folder to /bin/sh between double quotes. */
function refuseShellCharacters(directory: string): void {
  if (process.platform === 'win32' || !/["$`\\\n]/.test(directory)) return
  throw new EmbeddedPostgresError(
    `Postgres cannot use ${JSON.stringify(directory)}: choose a DATA_DIR without quotes, dollar signs and backslashes.`,
  )
}

async function initialize(cluster: Cluster, draft: string): Promise<void> {
  const { user, binaries, settings, saved } = cluster
  const made = join(draft, 'made')
  const passwordFile = join(draft, 'password')
  await mkdir(made, { mode: 0o700 })
  await writeFile(passwordFile, `${saved.password}\n`, { mode: 0o600 })
  if (user) {
    await chmod(draft, 0o711)
    await giveTo(user, made, passwordFile)
  }
  const finished = await run(binaries.initdb, initdbArguments(made, passwordFile, settings), { user })
  if (finished.code !== 0) throw notCreated(dirname(cluster.directory), finished.output)
  await appendFile(join(made, 'postgresql.conf'), `\ninclude_if_exists = '${SETTINGS_FILE}'\n`)
}

function initdbArguments(made: string, passwordFile: string, settings: Record<string, string>): string[] {
  return [
    `--pgdata=${made}`,
    '--username=gateway',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--data-checksums',
    // Sorts like C on every machine, while upper, lower and ilike still handle é and É.
    '--no-locale',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
    ...(settings.fsync === 'off' ? ['--no-sync'] : []),
  ]
}

function notEmpty(directory: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `${directory} is not empty and is not a Postgres database: move it away, or choose another DATA_DIR.`,
  )
}

function notCreated(folder: string, output: string): EmbeddedPostgresError {
  const reason = output.split('\n').find(line => line.includes('error:')) ?? lastLine(output)
  return new EmbeddedPostgresError(`The embedded database could not be created in ${folder}: ${reason}`)
}
