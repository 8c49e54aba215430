import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve, sep } from 'node:path'
import { type Answer, CommandFailed, command, option, UsageError } from '../../console/command.ts'
import { listenForStop } from '../../console/stop-signal.ts'
import { makeLog } from '../../platform/telemetry/log.ts'
import { namesDatabase } from '../../settings/config.ts'

/** A folder with this file is a demo's, and nothing but a demo's. */
const MARK = 'email-gateway-demo'
const EXIT_MS = 2_000

const options = {
  port: option.parsed('N', 'listen on this port of 127.0.0.1 (default: a free one)', given => {
    const port = Number(given)
    if (!/^\d{1,5}$/.test(given) || port > 65_535) throw new UsageError('--port must be a number from 0 to 65535')
    return port
  }),
  data: option.text(
    'DIR',
    'where the data are: a new or empty folder, or one of an earlier demo; removed at the end without --keep',
  ),
  keep: option.flag('do not remove the data at the end'),
}

const notes = [
  'With --json, one JSON value is printed when it runs: {"url","adminUrl","user","password","signInLink","docsUrl","dataDir","pid"}.',
  'Nothing leaves the machine. The demo has a database of its own and reads no settings, so it cannot touch a real gateway.',
]

export const demoCommand = command({ name: 'demo', notes, options }, action =>
  action(
    {
      form: '[--port N] [--data DIR] [--keep]',
      what: 'until Ctrl-C; what it made is removed then',
      options: ['port', 'data', 'keep'],
      opens: 'nothing',
    },
    async ({ options: { port = 0, data, keep }, json, answerNow = () => {} }) => {
      if (namesDatabase())
        throw new CommandFailed(
          'DATABASE_URL is set. The demo makes a database of its own: run it without DATABASE_URL.',
        )
      const dataDir = await demoFolder(data)
      // Failures are part of the demo: they belong in the UI, not on the terminal.
      const log = makeLog({ level: 'fatal', pretty: !json && process.stdout.isTTY === true, fd: json ? 2 : 1 })
      let abandon = async () => {}
      const stop = listenForStop(log, () => abandon())
      const password = randomBytes(9).toString('base64url')
      // Imported here: other commands start in half the time without it.
      const { startDemo } = await import('./demo.ts')
      const folders = [dataDir]
      try {
        const demo = await startDemo({ dataDir, port, password, log })
        abandon = demo.abandon
        if (demo.databaseFolder) folders.push(demo.databaseFolder)
        answerNow(demoAnswer(demo, dataDir, password, keep))
        const reason = await stop.reason
        if (!json) console.log('Stopping…')
        await demo.stop()
        if (reason.kind === 'failed') throw reason.error
      } finally {
        if (!keep) await removeFolders(folders)
        // A pending connection must not keep the process alive.
        setTimeout(() => process.exit(), EXIT_MS).unref()
      }
      return null
    },
  ),
)

/** Refuses a folder that holds something else: the demo removes its folder at the end. */
async function demoFolder(given: string | undefined): Promise<string> {
  const folder = given === undefined ? await mkdtemp(join(tmpdir(), 'email-gateway-demo-')) : resolve(given)
  await mkdir(folder, { recursive: true })
  if ((await readdir(folder)).length > 0 && !existsSync(join(folder, MARK)))
    throw new CommandFailed(`${folder} is not empty, and not of an earlier demo. Name a new folder with --data.`)
  await writeFile(join(folder, MARK), 'This folder belongs to email-gateway demo, which removes it.\n')
  return folder
}

function demoAnswer(
  { url, signInLink }: { url: string; signInLink: string },
  dataDir: string,
  password: string,
  keep: boolean,
): Answer {
  const adminUrl = `${url}/admin`
  const docsUrl = `${url}/docs`
  const lines = [
    '',
    '  Email Gateway demo: simulated providers, made-up companies, nothing leaves this machine.',
    '',
    `  Open, signed in     ${signInLink}`,
    `  Or sign in          ${adminUrl}   name: admin   password: ${password}`,
    `  API documentation   ${docsUrl}`,
    `  Data                ${dataDir}${keep ? '' : ' (removed at the end; --keep keeps it)'}`,
    '',
    '  Ctrl-C ends it.',
    '',
  ]
  const json = { url, adminUrl, user: 'admin', password, signInLink, docsUrl, dataDir, pid: process.pid }
  return { json, lines }
}

/** The database is inside of the folder, or in one of its own when the server's user cannot reach the folder. */
async function removeFolders([dataDir, database]: string[]): Promise<void> {
  if (database && !database.startsWith(dataDir! + sep)) await rm(dirname(database), { recursive: true, force: true })
  await rm(dataDir!, { recursive: true, force: true })
}
