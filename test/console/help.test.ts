import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { dlqCommand } from '../../src/dead-letters/command.ts'
import { emailCommand } from '../../src/emails/command.ts'
import { COMMANDS } from '../../src/main/commands.ts'
import { helpOf, overview } from '../../src/main/run.ts'
import { BIN, cleanUp, makeDataDir, ROOT, runGateway, runShell } from '../support/process.ts'

afterAll(cleanUp)

const { version, engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
/** No command that only tells about itself may look at it. */
const env = { DATABASE_URL: 'nonsense' }

describe.concurrent('help', () => {
  test.each([[['help']], [[]], [['--help']]])('%j lists every command and exits 0', async args => {
    const { code, stdout, stderr } = await runGateway(args, { env })
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `${overview(COMMANDS)}\n`, stderr: '' })
    for (const name of Object.keys(COMMANDS)) expect(stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'))
  })

  test.each([[['help', 'dlq']], [['dlq', '--help']]])(
    '%j tells how one command is called, with every option, without touching a database',
    async args => {
      const { code, stdout, stderr } = await runGateway(args, { env })
      expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `${helpOf(dlqCommand)}\n`, stderr: '' })
      for (const option of Object.keys(dlqCommand.options)) expect(stdout).toContain(`  --${option}`)
    },
  )

  test.each([[['dlq', 'show', '-h']], [['help', 'dlq', 'show']]])('%j tells of one action only', async args => {
    const { code, stdout, stderr } = await runGateway(args, { env })
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `${helpOf(dlqCommand, 'show')}\n`, stderr: '' })
    expect(stdout).toMatch(/^email-gateway dlq show ID\n.*\n\nOptions\n/)
    expect(stdout).not.toMatch(/--yes|--out/)
  })

  test('takes --json as every command does', async () => {
    const { code, stdout } = await runGateway(['help', 'email', '--json'], { env })
    expect({ code, printed: JSON.parse(stdout) }).toEqual({ code: 0, printed: { usage: helpOf(emailCommand) } })
  })

  test('is reached by npx inside the clone, which builds nothing beside a gateway that may run there', async () => {
    const builtAt = () => statSync(join(ROOT, 'dist/admin/index.html')).mtimeMs
    const before = builtAt()
    // Without a cache npx installs the clone itself first, which runs `prepare`.
    const npm_config_cache = await makeDataDir()
    const { code, stdout } = await runShell('npx email-gateway help company', { env: { npm_config_cache } })
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('company create NAME') })
    expect(builtAt()).toBe(before)
  })
})

describe.concurrent('--version', () => {
  test('tells the version of the package', async () => {
    expect(await runGateway(['--version'], { env })).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' })
    const { stdout } = await runGateway(['--version', '--json'], { env })
    expect(JSON.parse(stdout)).toEqual({ version, node: process.versions.node })
  })
})

describe.concurrent('what is misspelt gets a suggestion', () => {
  test.each([
    [['compnay', 'list'], 'There is no command "compnay"; did you mean company?'],
    [['nonsense'], 'There is no command "nonsense".'],
    [['help', 'emial'], 'There is no command "emial"; did you mean email?'],
    [['toString'], 'There is no command "toString".'],
    [['help', 'email', 'foo'], 'email needs list, show, explain, cancel, resend or resolve, not "foo".'],
    [['help', 'start', 'foo'], 'unexpected argument "foo".'],
    [['dlq', 'reply'], 'dlq needs list, show, replay, export or purge, not "reply"; did you mean replay?'],
    [['dlq', 'list', '--comapny', 'acme'], 'There is no option --comapny; did you mean --company?'],
    [['company', 'create', 'a', '--colour', 'blue'], 'There is no option --colour.'],
    [['email', 'show', '-x'], 'There is no option -x.'],
  ])('%j', async (args, sentence) => {
    const { code, stdout, stderr } = await runGateway(args, { env })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.split('\n\n')[0]).toBe(sentence)
  })
})

describe.concurrent('an older Node', () => {
  const [, major, minor] = /^>=(\d+)\.(\d+)$/.exec(engines.node)!

  test.each(['12.22.12', '18.20.8', `${major}.${Number(minor) - 1}.0`])('%s gets one sentence', async node => {
    const pretend = `Object.defineProperty(process.versions, "node", { value: "${node}" })`
    const { code, stdout, stderr } = await runShell(`node -e '${pretend}; require("${BIN}")' help`)
    const sentence = `Email Gateway needs Node ${major}.${minor} or newer, and this is Node ${node}.\n`
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: sentence })
  })

  test('can parse the file that says so', () => {
    const code = readFileSync(BIN, 'utf8').replace(/^(#!|\/\/).*$/gm, '')
    expect(code).not.toMatch(/\b(const|let|async|await|class)\b|=>|\?\.|\?\?|`|\.\.\.|^\s*(import|export)\s+[^(]/m)
    expect(code).toContain("import('../dist/main/cli.js')")
  })
})

test('docs/cli.md is what the commands tell about themselves', async () => {
  const block = (text: string) => `\`\`\`text\n${text}\n\`\`\``
  // Every command has it; the overview says so once.
  const withoutJson = (text: string) => text.replace(/\n {2}--json .*/, '').replace(/\n+Options$/, '')
  const sections = await Promise.all(
    Object.entries(COMMANDS).map(
      async ([name, { load }]) => `## ${name}\n\n${block(withoutJson(helpOf(await load())))}\n`,
    ),
  )
  const page = `# Command line

Every command of \`email-gateway\`, as \`email-gateway help COMMAND\` tells it. Inside the clone: \`npx email-gateway …\`.
This page is made by \`npx vitest run --project database test/console/help.test.ts -u\`.

${block(overview(COMMANDS))}

${sections.join('\n')}`
  await expect(page).toMatchFileSnapshot(join(ROOT, 'docs/cli.md'))
})
