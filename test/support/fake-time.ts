import { execFileSync } from 'node:child_process'

/** What Debian's faketime sets for a program that it runs. */
export function clock(offset: string): Record<string, string> {
  const said = execFileSync('faketime', ['-m', '--exclude-monotonic', '-f', offset, 'env'], { encoding: 'utf8' })
  const wanted = ['LD_PRELOAD', 'FAKETIME', 'FAKETIME_DONT_FAKE_MONOTONIC']
  const settings = said.split('\n').map(line => line.split(/=(.*)/s).slice(0, 2) as [string, string])
  return Object.fromEntries(settings.filter(([name]) => wanted.includes(name)))
}
