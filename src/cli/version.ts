import { readFileSync } from 'node:fs'

/** As far from here in dist/ as in src/. */
const PACKAGE = new URL('../../package.json', import.meta.url)

export function programVersion(): string {
  return (JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string }).version
}
