import { createHash } from 'node:crypto'
import { z } from 'zod'

/**
 * The file is text, compressed with gzip: a header, then for every table a line with its name and a line for each of its rows, then an
 * end with the SHA-256 of all lines before it. A row is the JSON string of what Postgres writes for `table::text`.
 */
export const FORMAT = 'email-gateway-backup'
export const FORMAT_VERSION = 1

export const headerSchema = z.object({
  format: z.literal(FORMAT),
  formatVersion: z.int(),
  schemaVersion: z.int(),
  program: z.string(),
  takenAt: z.string(),
  days: z.array(z.iso.date()),
})
export type Header = z.infer<typeof headerSchema>

export const tableSchema = z.object({ table: z.string() })

export const endSchema = z.object({
  rows: z.int(),
  sequences: z.array(z.object({ name: z.string(), value: z.string() })),
  sha256: z.string(),
})
export type End = z.infer<typeof endSchema>

/** Adds up the lines, each with the end of line that it has in the file. */
export function lineDigest(): { add(line: string): void; hex(): string } {
  const hash = createHash('sha256')
  return { add: line => void hash.update(`${line}\n`), hex: () => hash.digest('hex') }
}
