import { type Command, text, texts, UsageError } from '../../console/command.ts'

const TEXT_OPTIONS = ['to', 'from', 'subject', 'html', 'text', 'template', 'locale', 'external-id', 'scheduled-at']
/** Options that are spelled otherwise than their fields. Both spellings are accepted. */
const OPTION_OF_FIELD: Record<string, string> = { externalId: 'external-id', scheduledAt: 'scheduled-at' }
const FIELD_OF_OPTION = Object.fromEntries(Object.entries(OPTION_OF_FIELD).map(([field, option]) => [option, field]))

export const sendCommand: Command = {
  usage: [
    ['send --to ADDRESS --subject TEXT (--html HTML | --text TEXT) [OPTIONS]', 'accept one e-mail, as the API does'],
    ['send --to ADDRESS --template TYPE [--variable NAME=VALUE …] [OPTIONS]', 'with the content of a template'],
  ],
  words: 0,
  options: {
    to: { type: 'string', value: 'ADDRESS', help: 'the recipient' },
    from: { type: 'string', value: 'ADDRESS', help: 'the sender (EMAIL_FROM)' },
    subject: { type: 'string', value: 'TEXT', help: 'the subject' },
    html: { type: 'string', value: 'HTML', help: 'the HTML part' },
    text: { type: 'string', value: 'TEXT', help: 'the plain text part' },
    template: { type: 'string', value: 'TYPE', help: 'a template, in place of --html and --text' },
    variable: {
      type: 'string',
      value: 'NAME=VALUE',
      help: 'for the template, such as user.name=Maria; once for each variable',
      multiple: true,
    },
    locale: { type: 'string', value: 'LOCALE', help: "of the template (the company's)" },
    'external-id': { type: 'string', value: 'TEXT', help: 'your own id for it' },
    'scheduled-at': { type: 'string', value: 'TIME', help: 'send not before this time, such as 2026-11-15T10:00:00Z' },
    company: { type: 'string', value: 'ID|NAME', help: 'the company that sends it (demo)' },
    test: { type: 'boolean', help: 'as with a test key: it is never sent to a provider' },
  },
  aliases: OPTION_OF_FIELD,
  run: async ({ values }) => {
    // Imported here, because the HTML parser and the accept rules take a quarter of the start-up time of any command.
    const { sendOne } = await import('./send-one.ts')
    const given = TEXT_OPTIONS.map(name => [FIELD_OF_OPTION[name] ?? name, text(values, name)])
    const written = given.filter(([, value]) => value !== undefined)
    const named = texts(values, 'variable')
    const body = { ...Object.fromEntries(written), ...(named.length > 0 && { variables: variablesOf(named) }) }
    return sendOne(body, text(values, 'company') ?? 'demo', values.test === true)
  },
}

type Variables = { [name: string]: string | Variables }

/** `user.name=Maria` becomes `{ user: { name: 'Maria' } }`. */
export function variablesOf(given: string[]): Variables {
  const variables: Variables = Object.create(null)
  for (const one of given) {
    const match = /^([A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*)=(.*)$/s.exec(one)
    if (!match) throw new UsageError(`--variable must be NAME=VALUE, such as user.name=Maria, not "${one}"`)
    const names = match[1]!.split('.')
    const last = names.pop()!
    let place = variables
    for (const name of names) {
      place[name] ??= Object.create(null) as Variables
      const inner = place[name]
      if (typeof inner === 'string') throw new UsageError(`--variable ${one}: ${name} is a text already`)
      place = inner
    }
    if (last in place) throw new UsageError(`--variable ${match[1]} is given twice`)
    place[last] = match[2]!
  }
  return variables
}
