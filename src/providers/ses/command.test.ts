import { expect, test } from 'vitest'
import { sesCommand } from './command.ts'

const URL = 'https://gateway.example.com'
const run = (values: Record<string, string>, action = 'setup') => sesCommand.run({ words: [action], values })

test.each([
  [{}, /^--url is missing/],
  [{ url: 'gateway.example.com' }, /^--url must look like/],
  [{ url: 'http://gateway.example.com' }, /^--url must look like/],
  [{ url: 'https://user@gateway.example.com' }, /^--url must look like/],
  [{ url: 'https://gateway.example.com/?a=b' }, /^--url must look like/],
  [{ url: URL, name: 'a b' }, /^--name must/],
  [{ url: URL, wait: '0' }, /^--wait must/],
  [{ url: URL, wait: 'long' }, /^--wait must/],
  [{ url: URL, from: 'nobody' }, /^--from must/],
])('ses setup with %j is refused before anything is asked', async (values, message) => {
  await expect(run(values)).rejects.toThrow(message)
})

test('another action is refused', async () => {
  await expect(run({ url: URL }, 'remove')).rejects.toThrow('ses needs setup, not "remove"')
})
