import { readFileSync } from 'node:fs'

/** The same relative path from dist/ and from src/. */
const PACKAGE = new URL('../../package.json', import.meta.url)

/** package.json is the only place that holds the version. */
export function programVersion(): string {
  return (JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string }).version
}

/** The `User-Agent` of the gateway's own requests. */
export const userAgent = () => `email-gateway/${programVersion()}`
