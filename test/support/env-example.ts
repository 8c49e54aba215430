import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './process.ts'

export type EnvEntry = { name: string; value: string; comment: string[] }

/** The settings of .env.example, each with the lines above it. */
export function readEnvExample(): EnvEntry[] {
  const entries: EnvEntry[] = []
  let comment: string[] = []
  for (const line of readFileSync(join(ROOT, '.env.example'), 'utf8').split('\n')) {
    const match = /^([A-Z][A-Z0-9_]*)=(.*)$/.exec(line)
    if (match) entries.push({ name: match[1]!, value: match[2]!, comment })
    comment = line.startsWith('# ') ? [...comment, line.slice(2)] : []
  }
  return entries
}
