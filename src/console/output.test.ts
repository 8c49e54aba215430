import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { writeToFile } from './output.ts'

let folder: string
let file: string
let victim: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'email-gateway-out-'))
  file = join(folder, 'dead.jsonl')
  victim = join(folder, 'victim')
  await writeFile(victim, 'mine')
})
afterEach(() => rm(folder, { recursive: true }))

async function* pieces() {
  yield 'one '
  yield 'two'
}

const unfinished = () => `${file}.${process.pid}.part`

describe('a file that is written', () => {
  test('is complete, readable by its owner only, and replaces an existing file', async () => {
    await writeFile(file, 'before')
    await writeToFile(file, pieces())
    expect(await readFile(file, 'utf8')).toBe('one two')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await readdir(folder)).sort()).toEqual(['dead.jsonl', 'victim'])
  })

  test('is not written through a link under its own name', async () => {
    await symlink(victim, file)
    await expect(writeToFile(file, pieces())).rejects.toThrow('is a link, which is not followed')
    expect(await readFile(victim, 'utf8')).toBe('mine')
  })

  test('is not written through a link under the name of the unfinished file', async () => {
    await symlink(victim, unfinished())
    await expect(writeToFile(file, pieces())).rejects.toThrow('cannot be written')
    expect(await readFile(victim, 'utf8')).toBe('mine')
  })

  test('is not written through a dangling link under the name of the unfinished file', async () => {
    await symlink(join(folder, 'nothing'), unfinished())
    await expect(writeToFile(file, pieces())).rejects.toThrow('cannot be written')
    expect((await readdir(folder)).sort()).toEqual([`dead.jsonl.${process.pid}.part`, 'victim'])
  })

  test('does not overwrite an existing file under the name of the unfinished file', async () => {
    await writeFile(unfinished(), 'theirs')
    await expect(writeToFile(file, pieces())).rejects.toThrow('cannot be written')
    expect(await readFile(unfinished(), 'utf8')).toBe('theirs')
  })
})
