import { type Command, text } from './command.ts'

const TEXT_OPTIONS = ['to', 'from', 'subject', 'html', 'text', 'externalId', 'scheduledAt'] as const

export const sendCommand: Command = {
  usage:
    'send --to ADDRESS --subject TEXT (--html HTML | --text TEXT) [--from ADDRESS] [--company ID|NAME (demo)] [--test]',
  words: 0,
  options: {
    company: { type: 'string' },
    test: { type: 'boolean' },
    ...Object.fromEntries(TEXT_OPTIONS.map(name => [name, { type: 'string' as const }])),
  },
  run: async ({ values }) => {
    // The parser of HTML and the rules of the door take a quarter of a start: no other command needs them.
    const { sendOne } = await import('./send-one.ts')
    const given = TEXT_OPTIONS.map(name => [name, text(values, name)]).filter(([, value]) => value !== undefined)
    return sendOne(Object.fromEntries(given), text(values, 'company') ?? 'demo', values.test === true)
  },
}
