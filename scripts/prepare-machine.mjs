// Installs the programs that tests and benchmarks drive, where the machine lacks them: by apt when root, otherwise a clear sentence.
import { execFileSync, spawnSync } from 'node:child_process'

const PACKAGES = { 'redis-server': 'redis-server', chromium: 'chromium', faketime: 'faketime' }
const wanted = process.argv.slice(2)
const missing = wanted.filter(program => spawnSync('which', [program]).status !== 0)
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
const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
// A package's service must not be started by its installation; tests start their own on their own ports.
const apt = args => execFileSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'inherit'] })
apt(['update', '-qq'])
apt(['install', '-y', '-qq', '--no-install-recommends', ...packages])
