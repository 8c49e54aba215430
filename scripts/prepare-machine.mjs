// Installs the programs that tests and benchmarks drive, where the machine lacks them: by apt when root, otherwise a clear sentence.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'

const PACKAGES = {
  'redis-server': 'redis-server',
  chromium: 'chromium-headless-shell',
  faketime: 'faketime',
  pgbouncer: 'pgbouncer',
  openssl: 'openssl',
  postgres: 'postgresql',
  promtool: 'prometheus',
}
// Debian keeps the server's programs outside of the PATH, in a folder for each version; its daemons are in sbin.
const POSTGRES_FOLDER = '/usr/lib/postgresql'
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin`, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }

function isInstalled(program) {
  if (program === 'chromium') return ['chromium-headless-shell', 'chromium'].some(onPath)
  if (program !== 'postgres') return onPath(program)
  if (!existsSync(POSTGRES_FOLDER)) return false
  return readdirSync(POSTGRES_FOLDER).some(version => existsSync(`${POSTGRES_FOLDER}/${version}/bin/initdb`))
}

function onPath(program) {
  return spawnSync('which', [program], { env }).status === 0
}

const wanted = process.argv.slice(2)
const missing = wanted.filter(program => !isInstalled(program))
if (missing.length === 0) process.exit(0)

const packages = missing.map(program => PACKAGES[program])
const hasApt = spawnSync('which', ['apt-get']).status === 0
if (process.getuid?.() !== 0 || !hasApt) {
  console.error(
    `Missing here: ${missing.join(', ')}. Install with your package manager (Debian, Ubuntu: sudo apt-get install ${packages.join(' ')}) and run this again.`,
  )
  process.exit(1)
}

console.log(`Installing ${packages.join(', ')} …`)
// A package's service must not be started by its installation; tests start their own on their own ports.
const apt = args => execFileSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'inherit'] })
apt(['update', '-qq'])
apt(['install', '-y', '-qq', '--no-install-recommends', ...packages])
