import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { appendFile, chmod, chown, mkdir, readFile, realpath, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { type Binaries, findNativePackage, prepareBinaries } from './binaries.ts'
import { createSavedState, makeDataDir, readSavedState, type SavedState } from './data-dir.ts'
import { codeOf, EmbeddedPostgresError } from './errors.ts'
import {
  canReach,
  chooseServerUser,
  createFolderAtomically,
  exists,
  findFreePort,
  isRoot,
  lastLine,
  makeSystemDir,
  run,
  type ServerUser,
} from './system.ts'

type ClusterOptions = {
  dataDir: string
  use: 'gateway' | 'command'
  systemDir: string
  settings: Record<string, string>
  logInfo: (line: string) => void
  /** For problems that the operator has to solve. */
  logError: (line: string) => void
}

/** The database files of one DATA_DIR, and what this process needs to run their server. */
export type Cluster = Omit<ClusterOptions, 'systemDir'> & {
  directory: string
  /** Who runs the server; undefined: the user of this process. */
  user: ServerUser | undefined
  binaries: Binaries
  saved: SavedState
}

/** Finds or creates the cluster. */
export async function prepareCluster({ systemDir, ...options }: ClusterOptions): Promise<Cluster> {
  const { logInfo } = options
  await makeDataDir(resolve(options.dataDir))
  const dataDir = await realpath(options.dataDir)
  const saved = readSavedState(dataDir) ?? (await chooseState(dataDir, systemDir, logInfo))
  const directory = saved.directory ?? join(dataDir, 'postgres')
  const user = isRoot() ? await prepareForServerUser(directory, saved, systemDir) : undefined
  const binaries = await prepareBinaries(await findNativePackage(), { user, systemDir, logInfo })
  const cluster = { ...options, dataDir, directory, user, binaries, saved }
  await createCluster(cluster)
  return cluster
}

async function chooseState(dataDir: string, systemDir: string, logInfo: (line: string) => void): Promise<SavedState> {
  const port = await findFreePort()
  const directory = isRoot() ? await chooseDirectoryOutside(dataDir, systemDir, logInfo) : undefined
  return createSavedState(dataDir, { port, directory })
}

/** For root: undefined if the server's user can reach dataDir, so that the cluster can be inside. */
async function chooseDirectoryOutside(
  dataDir: string,
  systemDir: string,
  logInfo: (line: string) => void,
): Promise<string | undefined> {
  if (await exists(join(dataDir, 'postgres'))) return undefined
  const user = await chooseServerUser()
  if (await canReach(user, dataDir)) return undefined
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, 12)
  let folder = join(systemDir, `data-${hash}`)
  if (await exists(folder)) {
    // If DATA_DIR was deleted to start over, the folder still holds the old database, which has another password.
    logInfo(`An older database of this DATA_DIR is left in ${folder}; remove it when you do not need it.`)
    folder = `${folder}-${randomBytes(3).toString('hex')}`
  }
  logInfo(`The user ${user.name}, who runs Postgres, cannot reach ${dataDir}; the database is in ${folder}/postgres.`)
  return join(folder, 'postgres')
}

async function prepareForServerUser(directory: string, saved: SavedState, systemDir: string): Promise<ServerUser> {
  if (saved.directory) {
    await makeSystemDir(systemDir)
    await mkdir(dirname(directory), { recursive: true })
    await chmod(dirname(directory), 0o711)
  }
  const existing = await stat(directory).catch(() => undefined)
  const user = await chooseServerUser(existing)
  if (!(await canReach(user, dirname(directory))))
    throw new EmbeddedPostgresError(
      `The user ${user.name}, who runs the embedded database since Postgres does not run as root, cannot reach ${directory}: open the folders above it with chmod o+x, or move DATA_DIR.`,
    )
  // A cluster that was copied or restored by root belongs to root, and Postgres would not start on it.
  if (existing?.uid === 0) {
    await run('chown', ['-R', '-h', `${user.uid}:${user.gid}`, directory])
    await chmod(directory, 0o700)
  }
  return user
}

async function createCluster(cluster: Cluster): Promise<void> {
  refuseShellCharacters(cluster.directory)
  await createFolderAtomically({
    target: cluster.directory,
    isComplete: async () => (await versionOf(cluster.directory)) !== undefined,
    create: draft => initialize(cluster, draft),
  }).catch(error => {
    if (codeOf(error) !== 'ENOTEMPTY') throw error
    throw new EmbeddedPostgresError(
      `${cluster.directory} is not empty and is not a Postgres database: move it away, or choose another DATA_DIR.`,
    )
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
    for (const path of [made, passwordFile]) await chown(path, user.uid, user.gid)
  }
  const finished = await run(binaries.initdb, initdbArguments(made, passwordFile, settings), { user })
  if (finished.code !== 0) {
    const reason = finished.output.split('\n').find(line => line.includes('error:')) ?? lastLine(finished.output)
    throw new EmbeddedPostgresError(
      `The embedded database could not be created in ${dirname(cluster.directory)}: ${reason}`,
    )
  }
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

const SETTINGS_FILE = 'email-gateway.conf'

const SETTINGS: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '256MB',
  jit: 'off',
  timezone: 'UTC',

  // An e-mail that was answered with 202 must survive a power cut.
  fsync: 'on',
  synchronous_commit: 'on',
  wal_level: 'minimal',
  max_wal_senders: '0',
  wal_compression: 'on',
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',

  // No personal data in the log: no statements, no parameters, no DETAIL ("Key (email)=(…) already exists").
  log_destination: 'stderr',
  logging_collector: 'off',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] ',
  log_min_messages: 'warning',
  log_min_error_statement: 'panic',
  log_parameter_max_length_on_error: '0',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
}

/** At every start of the server, so that a new gateway version can change them. */
export async function writeSettings({ directory, settings, user }: Cluster, port: number): Promise<void> {
  const file = join(directory, SETTINGS_FILE)
  const draft = `${file}.${randomUUID()}`
  await writeFile(draft, settingsText(port, settings), { mode: 0o600 })
  if (user) await chown(draft, user.uid, user.gid)
  await rename(draft, file)
}

function settingsText(port: number, overrides: Record<string, string>): string {
  const lines = Object.entries({ ...SETTINGS, ...overrides, port: String(port) }).map(
    ([name, value]) => `${name} = '${value.replaceAll("'", "''")}'`,
  )
  return `# Written by the gateway at every start of the server; put your own settings after the include in postgresql.conf.\n${lines.join('\n')}\n`
}
