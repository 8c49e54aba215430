import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { dumpLines } from '../db/backup/dump.ts'
import { programVersion } from '../version.ts'
import { type Command, reading, required } from './command.ts'
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
      const pieces = Readable.from(dumpLines(url, programVersion(), progress)).compose<
        NodeJS.ReadWriteStream & AsyncIterable<Buffer>
      >(createGzip())
      if (target === '-') {
        await pipeline(pieces, process.stdout, { end: false })
        return null
      }
      await writeToFile(target, pieces as AsyncIterable<Buffer>)
      return { json: { file: target, rows: progress.rows }, lines: [`${progress.rows} rows written to ${target}`] }
    })()
  },
}
