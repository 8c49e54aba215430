import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'
import { CommandFailed, command, withMigratedStorage, word } from '../console/command.ts'
import { findConfiguredSecrets, loadReadingConfig } from '../settings/config.ts'
import { requireSecretsOfBackup } from '../settings/secrets-of-database.ts'
import { RestoreRefused, restoreLines } from './restore.ts'

const FILE = word('FILE|-', given => given, 'FILE (- for standard input)')

const notes = [
  'Put secrets.json of the gateway that was backed up into the new DATA_DIR first, or set ENCRYPTION_KEY and HASH_PEPPER: others are refused.',
  'What was sent after the backup was taken is open in it, and is sent again when the gateway starts.',
]

export const restoreCommand = command({ name: 'restore', notes, options: {} }, action =>
  action(
    {
      words: [FILE],
      what: 'a backup, into a new DATA_DIR or a new database; all of it or nothing',
      opens: 'nothing',
    },
    async ({ words: [source] }) => {
      requireSecrets()
      return withMigratedStorage(async ({ url, config, where }) => {
        const restored = await restoreFrom(source, url, tx => requireSecretsOfBackup(tx, config))
        return {
          json: { ...restored, database: where },
          lines: [`${restored.rows} rows of ${restored.takenAt} restored: ${where}`],
        }
      }, 'restored')
    },
  ),
)

/** A new database would get new ones, and then refuse those of the backup. */
function requireSecrets(): void {
  const config = loadReadingConfig()
  const { missing } = findConfiguredSecrets(config)
  if (missing.length === 0) return
  throw new CommandFailed(
    `${missing.join(' and ')} of the gateway that was backed up must be set${config.DATABASE_URL ? '' : `, or its secrets.json be in ${config.dataDir}`}.`,
  )
}

async function restoreFrom(source: string, url: string, check: Parameters<typeof restoreLines>[2]) {
  try {
    return await restoreLines(url, linesOf(source), check)
  } catch (error) {
    throw error instanceof RestoreRefused ? new CommandFailed(error.message) : error
  }
}

async function* linesOf(source: string): AsyncGenerator<string> {
  const packed = source === '-' ? process.stdin : createReadStream(source)
  const unpacked = createGunzip().setEncoding('utf8')
  packed.on('error', (error: Error) => unpacked.destroy(error))
  packed.pipe(unpacked)
  try {
    yield* splitLines(unpacked)
  } catch (error) {
    const { syscall, code, message } = error as { syscall?: string; code?: string; message: string }
    if (syscall) throw new CommandFailed(`${source} cannot be read (${message}).`)
    if (!code?.startsWith('Z_')) throw error
    throw new CommandFailed(`The backup is damaged or not complete (${message}); nothing was restored.`)
  }
}

/** node:readline does not forward the errors of its input. A line may have megabytes, so its parts are joined once. */
async function* splitLines(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let parts: string[] = []
  for await (const chunk of chunks) {
    const [first, ...more] = chunk.split('\n')
    parts.push(first!)
    if (more.length === 0) continue
    yield parts.join('')
    parts = [more.pop()!]
    yield* more
  }
  const last = parts.join('')
  if (last !== '') yield last
}
