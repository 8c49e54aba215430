import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { chooseServerUser, findFreePort, isRoot } from '../../src/platform/postgres/embedded/system.ts'
import { until } from './gateway.ts'
import { makeTestFolder } from './postgres.ts'
import { reapWithUs } from './reaper.ts'

export type PgBouncer = { url: (database: string) => string; close: () => Promise<void> }

/** A PgBouncer in front of a server, with the settings that its package comes with unless given. */
export async function startPgBouncer(
  server: { port: number; password: string },
  settings: Record<string, string | number>,
): Promise<PgBouncer> {
  const folder = await makeTestFolder()
  const port = await findFreePort()
  const lines = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: join(folder, 'users'),
    ...settings,
  }
  const text = Object.entries(lines).map(([name, value]) => `${name} = ${value}`)
  const ini = join(folder, 'pgbouncer.ini')
  await writeFile(join(folder, 'users'), `"postgres" "${server.password}"\n`)
  await writeFile(ini, `[databases]\n* = host=127.0.0.1 port=${server.port}\n[pgbouncer]\n${text.join('\n')}\n`)
  const user = isRoot() ? await chooseServerUser() : undefined
  if (user) for (const file of [folder, ini, join(folder, 'users')]) await chown(file, user.uid, user.gid)
  const child = spawn('pgbouncer', [ini], {
    stdio: 'ignore',
    env: { PATH: `${process.env.PATH}:/usr/sbin` },
    ...(user ? { uid: user.uid, gid: user.gid } : {}),
  })
  reapWithUs(child)
  const exited = once(child, 'exit')
  await until(() => isListening(port), Boolean, 10_000)
  return {
    url: database => `postgres://postgres:${server.password}@127.0.0.1:${port}/${database}`,
    async close() {
      child.kill('SIGTERM')
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
}
