import { readFileSync } from 'node:fs'

/** The same relative path from dist/cli/ and from src/cli/. */
const PACKAGE = new URL('../../package.json', import.meta.url)

export function programVersion(): string {
  return (JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string }).version
}
