import { type Command, text } from './command.ts'

const TEXT_OPTIONS = ['to', 'from', 'subject', 'html', 'text', 'externalId', 'scheduledAt'] as const

export const sendCommand: Command = {
  summary: 'accept one e-mail, as the API does',
  usage: [
    ['send --to ADDRESS --subject TEXT (--html HTML | --text TEXT) [OPTIONS]', 'accept one e-mail, as the API does'],
  ],
  words: 0,
  options: {
    to: { type: 'string', value: 'ADDRESS', help: 'the recipient' },
    from: { type: 'string', value: 'ADDRESS', help: 'the sender (EMAIL_FROM)' },
    subject: { type: 'string', value: 'TEXT', help: 'the subject' },
    html: { type: 'string', value: 'HTML', help: 'the HTML part' },
    text: { type: 'string', value: 'TEXT', help: 'the plain text part' },
    externalId: { type: 'string', value: 'TEXT', help: 'your own id for it' },
    scheduledAt: { type: 'string', value: 'TIME', help: 'send not before this time, such as 2026-11-15T10:00:00Z' },
    company: { type: 'string', value: 'ID|NAME', help: 'the company that sends it (demo)' },
    test: { type: 'boolean', help: 'as with a test key: it is never sent to a provider' },
  },
  run: async ({ values }) => {
    // Imported here, because the HTML parser and the accept rules take a quarter of the start-up time of any command.
    const { sendOne } = await import('./send-one.ts')
    const given = TEXT_OPTIONS.map(name => [name, text(values, name)]).filter(([, value]) => value !== undefined)
    return sendOne(Object.fromEntries(given), text(values, 'company') ?? 'demo', values.test === true)
  },
}
