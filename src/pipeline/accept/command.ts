import { command, option, UsageError } from '../../console/command.ts'

const options = {
  to: option.text('ADDRESS', 'the recipient'),
  from: option.text('ADDRESS', 'the sender (EMAIL_FROM)'),
  subject: option.text('TEXT', 'the subject'),
  html: option.text('HTML', 'the HTML part'),
  text: option.text('TEXT', 'the plain text part'),
  template: option.text('TYPE', 'a template, in place of --html and --text'),
  variable: option.many('NAME=VALUE', 'for the template, such as user.name=Maria; once for each variable'),
  locale: option.text('LOCALE', "of the template (the company's)"),
  'external-id': option.text('TEXT', 'your own id for it'),
  'scheduled-at': option.text('TIME', 'send not before this time, such as 2026-11-15T10:00:00Z'),
  company: option.text('ID|NAME', 'the company that sends it (demo)'),
  test: option.flag('as with a test key: it is never sent to a provider'),
}

/** Options that are spelled otherwise than their fields. Both spellings are accepted. */
const aliases = { externalId: 'external-id', scheduledAt: 'scheduled-at' }

export const sendCommand = command({ name: 'send', options, aliases }, action =>
  action(
    {
      form: '--to ADDRESS --subject TEXT (--html HTML | --text TEXT) [OPTIONS]',
      what: 'accept one e-mail, as the API does',
      otherwise: ['--to ADDRESS --template TYPE [--variable NAME=VALUE …] [OPTIONS]', 'with the content of a template'],
      options: Object.keys(options) as (keyof typeof options)[],
      opens: 'nothing',
    },
    async ({ options }) => {
      const { company = 'demo', test, variable, ...texts } = options
      const { 'external-id': externalId, 'scheduled-at': scheduledAt, ...sameNames } = texts
      const fields = {
        ...sameNames,
        externalId,
        scheduledAt,
        ...(variable.length > 0 && { variables: variablesOf(variable) }),
      }
      const body = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
      // Imported here, because the HTML parser and the accept rules take a quarter of the start-up time of any command.
      const { sendOne } = await import('./send-one.ts')
      return sendOne(body, company, test)
    },
  ),
)

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
