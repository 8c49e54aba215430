import { expect, test, vi } from 'vitest'
import { readInput } from '../console/arguments.ts'
import { CommandFailed, UsageError } from '../console/command.ts'
import { COMMANDS } from './commands.ts'

/** Before any database is opened. */
test.each([
  ['company', 'company needs create, list,'],
  ['company create two words', 'unexpected argument "words"'],
  ['company list stray', 'unexpected argument "stray"'],
  ['company list --weight 3', '--weight cannot be used here'],
  ['company update acme', 'give what to change: --weight, --rate,'],
  ['company update acme --reason because', '--reason cannot be used here'],
  ['company update acme --weight', '--weight needs a value: --weight N'],
  ['company update acme --weight --json', '--weight needs a value: --weight N'],
  [
    'send --text -20% --to a@b.example',
    '--text needs a value: --text TEXT; one that begins with a dash is given as --text=-20%',
  ],
  ['key list stray', 'unexpected argument "stray"'],
  ['key list --test', '--test cannot be used here'],
  ['key create --company beta --test extra', 'unexpected argument "extra"'],
  ['admin list stray', 'unexpected argument "stray"'],
  ['admin remove ana bia', 'unexpected argument "bia"'],
  ['admin list --yes', '--yes cannot be used here'],
  ['domain list stray', 'unexpected argument "stray"'],
  ['suppression export stray', 'unexpected argument "stray"'],
  ['webhook list stray', 'unexpected argument "stray"'],
  ['template list stray', 'unexpected argument "stray"'],
  ['email list stray', 'unexpected argument "stray"'],
  ['dlq list stray', 'unexpected argument "stray"'],
  ['db url stray', 'unexpected argument "stray"'],
  ['company create b --colour blue', 'There is no option --colour'],
  ['send', '--to: '],
  ['send --company acme --to maria@example.com', '--subject: is required'],
  ['send --company acme --to nonsense --subject Hello --text Hello', '--to: The e-mail address has no @'],
  ['email show nonsense', 'ID must be the outboxId of an e-mail, a UUID'],
  ['db', 'db needs shell or url'],
  ['start --role boss', '--role must be api, worker or all'],
])('%s is refused', async (line, sentence) => {
  const [name, ...rest] = line.split(' ')
  const command = await COMMANDS[name!]!.load()
  const error = await (async () => command.run(readInput(rest, command)))().catch((thrown: Error) => thrown)
  expect(error).toBeInstanceOf(UsageError)
  expect((error as Error).message).toContain(sentence)
})

test('demo does not start beside a database that is named', async () => {
  vi.stubEnv('DATABASE_URL', 'postgres://gateway@127.0.0.1:1/real')
  const command = await COMMANDS.demo!.load()
  const error = await command.run(readInput([], command)).catch((thrown: Error) => thrown)
  vi.unstubAllEnvs()
  expect(error).toBeInstanceOf(CommandFailed)
  expect((error as Error).message).toContain('run it without DATABASE_URL')
})
