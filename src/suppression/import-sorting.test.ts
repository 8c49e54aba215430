import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hashEmail } from '../platform/text/hashing.ts'
import { HashSorter } from './import.ts'

test('entries added in any order come out complete and sorted by hash, and no file stays on disk', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hash-sorter-'))
  const sorter = new HashSorter<{ n: number }>(folder)
  try {
    const hashes = Array.from({ length: 5_000 }, (_, n) => hashEmail(`r${n}@example.com`))
    hashes.forEach((hash, n) => void sorter.add(hash, { n }))
    sorter.add(hashes[7]!, { n: -1 })
    const chunks = [...sorter.chunks(700)]
    expect(chunks.map(chunk => chunk.length)).toEqual([...Array(7).fill(700), 101])
    const all = chunks.flat()
    expect(all.map(([hash]) => hash)).toEqual([...hashes, hashes[7]!].sort())
    expect(all.every(([hash, { n }]) => n === -1 || hashes[n] === hash)).toBe(true)
    expect(sorter.size).toBe(5_001)
  } finally {
    sorter.close()
    expect(readdirSync(folder)).toEqual([])
    rmSync(folder, { recursive: true })
  }
})
