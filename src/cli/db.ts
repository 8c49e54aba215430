import { type Answer, actionOf, type Command, type Opened, withStorage } from './command.ts'

export const dbCommand: Command = {
  summary: 'the connection string of the database',
  usage: [['db url', 'the connection string, also of the embedded database']],
  words: 1,
  options: {},
  run({ words: [action] }) {
    const act = actionOf(ACTIONS, action, 'db')
    return withStorage(act)
  },
}

const ACTIONS: Record<'url', (opened: Opened) => Promise<Answer>> = {
  url: async ({ url }) => ({ json: { url }, lines: [url] }),
}
