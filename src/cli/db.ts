import { type Command, UsageError, withStorage } from './command.ts'

export const dbCommand: Command = {
  usage: 'db url    the connection string, also of the embedded database',
  words: 1,
  options: {},
  run({ words: [action] }) {
    if (action !== 'url') throw new UsageError('db needs url')
    return withStorage(async ({ url }) => ({ json: { url }, lines: [url] }))
  },
}
