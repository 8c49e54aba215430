import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { dumpLines } from '../db/backup/dump.ts'
import { programVersion } from '../version.ts'
import { type Command, CommandFailed, reading, required } from './command.ts'
import { writeToFile } from './stream-out.ts'

export const backupCommand: Command = {
  usage: [['backup FILE|-', 'everything in the database, as it stands at one moment; the gateway may go on meanwhile']],
  notes: [
    'The secrets are not in it: keep secrets.json of DATA_DIR, or ENCRYPTION_KEY and HASH_PEPPER, in another place.',
  ],
  words: 1,
  options: {},
  run({ words: [file] }) {
    const target = required(file, 'FILE (- for standard output)')
    return reading(async ({ url }) => {
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
    })()
  },
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
