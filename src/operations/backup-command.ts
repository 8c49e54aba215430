import { lstat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { type Answer, CommandFailed, command, option, UsageError, withStorageToRead, word } from '../console/command.ts'
import { writeToFile } from '../console/output.ts'
import { programVersion } from '../platform/version.ts'
import { dumpLines } from './backup.ts'

const options = { force: option.flag('replace FILE, if there is one; an unfinished backup replaces nothing') }

const FILE = word('FILE|-', given => given, 'FILE (- for standard output)')

const notes = [
  'The secrets are not in it: keep secrets.json of DATA_DIR, or ENCRYPTION_KEY and HASH_PEPPER, in another place.',
]

export const backupCommand = command({ name: 'backup', notes, options }, action =>
  action(
    {
      words: [FILE],
      form: '[--force]',
      what: 'everything in the database, as it stands at one moment; the gateway may go on meanwhile',
      options: ['force'],
      opens: 'nothing',
    },
    async ({ words: [target], options: { force }, json }) => {
      if (target === '-' && json) throw new UsageError('--json cannot be used with a backup to standard output')
      if (!force) await refuseExisting(target)
      return withStorageToRead(({ url }) => backUp(url, target))
    },
  ),
)

async function backUp(url: string, target: string): Promise<Answer | null> {
  const progress = { rows: 0 }
  const lines = dumpLines(url, programVersion(), progress)
  try {
    if (target === '-') {
      await writeToStandardOutput(lines)
      return null
    }
    await writeToFile(target, lines, createGzip())
  } finally {
    // A target that cannot be written leaves the lines unread: this ends their transaction and its connection.
    await lines.return(undefined)
  }
  return { json: { file: target, rows: progress.rows }, lines: [`${progress.rows} rows written to ${target}`] }
}

/** Of links and folders the writer says what is wrong with them. */
async function refuseExisting(file: string): Promise<void> {
  const found = await lstat(file).catch(() => null)
  if (found?.isFile())
    throw new CommandFailed(`${file} exists already. Choose another name, or replace it with --force.`, 'FILE_EXISTS')
}

/** Unlike a list, half a backup is worth nothing: a reader that goes away is a failure, too. */
async function writeToStandardOutput(lines: AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(lines, createGzip(), process.stdout, { end: false })
  } catch (error) {
    if (!(error as { syscall?: string }).syscall) throw error
    throw new CommandFailed(`Standard output cannot be written (${(error as Error).message}).`)
  }
}
