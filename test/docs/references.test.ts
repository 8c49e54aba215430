import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OpenAPIV3_1 } from 'openapi-types'
import { beforeAll, describe, expect, test } from 'vitest'
import { readInput } from '../../src/console/arguments.ts'
import type { Command } from '../../src/console/command.ts'
import { COMMANDS } from '../../src/main/commands.ts'
import { settingsSchema } from '../../src/settings/settings.ts'
import { apiDocument } from '../support/api-document.ts'
import { readEnvExample } from '../support/env-example.ts'
import { ROOT } from '../support/process.ts'
import { shellWords } from '../support/shell-words.ts'

type Operation = OpenAPIV3_1.OperationObject
type Route = { method: string; path: string; operation: Operation }

const UPDATE = 'npx vitest run --project database test/docs/references.test.ts -u'
const PAGES = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(ROOT, 'docs')).map(name => `docs/${name}`),
].filter(name => name.endsWith('.md'))
const cell = (text: string) => text.replaceAll('|', '\\|')

/** Of the examples and of compose.yaml. */
const OTHER_VARIABLES = ['GATEWAY_URL', 'API_KEY', 'OUTBOX_ID', 'POSTGRES_PASSWORD', 'GRAFANA_PASSWORD']

let routes: Route[]
let commands: Record<string, Command>

beforeAll(async () => {
  const loaded = Object.entries(COMMANDS).map(async ([name, { load }]) => [name, await load()] as const)
  commands = Object.fromEntries(await Promise.all(loaded))
  const { paths = {} } = await apiDocument()
  routes = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item ?? {}).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation: operation as Operation,
    })),
  )
})

test('docs/settings.md is what .env.example says', async () => {
  const rows = readEnvExample().map(
    ({ name, value, comment }) => `| \`${name}\` | ${value && `\`${value}\``} | ${cell(comment.join(' '))} |`,
  )
  const page = `# Settings

Every setting, with its default. The gateway reads environment variables, and \`.env\` in the directory that it is started in; variables of the
environment win. An empty variable counts as not set. A wrong or missing value stops the start and names the variable.
This page is made from [.env.example](../.env.example) by \`${UPDATE}\`.

| setting | default | |
|---|---|---|
${rows.join('\n')}
`
  await expect(page).toMatchFileSnapshot(join(ROOT, 'docs/settings.md'))
})

test('docs/routes.md is what the OpenAPI document says', async () => {
  // In an order of its own, which stays when routes are registered in another one.
  const isAdmin = (tag: string) => Number(tag.startsWith('Admin'))
  const tags = [...new Set(routes.map(tagOf))].sort((a, b) => isAdmin(a) - isAdmin(b) || a.localeCompare(b))
  const sections = tags.map(tag => {
    const rows = routes
      .filter(route => tagOf(route) === tag)
      .sort((a, b) => a.path.localeCompare(b.path) || METHODS.indexOf(a.method) - METHODS.indexOf(b.method))
      .map(
        ({ method, path, operation }) =>
          `| \`${method} ${path}\` | ${whoMay(operation)} | ${cell(operation.summary ?? '')} |`,
      )
    return `## ${tag}\n\n| route | needs | what it does |\n|---|---|---|\n${rows.join('\n')}\n`
  })
  const page = `# HTTP routes

Every route. Fields, answers and errors of each are at \`/docs\` and in \`/openapi.json\` of a running gateway. \`send\`, \`read\` and \`manage\` are scopes of an API
key; \`viewer\`, \`support\` and \`administrator\` are roles of an administrator, each of which may do what the ones before it may.
This page is made by \`${UPDATE}\`.

${sections.join('\n')}`
  await expect(page).toMatchFileSnapshot(join(ROOT, 'docs/routes.md'))
})

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const tagOf = ({ operation }: Route) => operation.tags?.[0] ?? 'Others'

function whoMay({ security, description = '' }: Operation): string {
  const scope = /Scope of the key: (\w+)\.$/.exec(description)?.[1]
  const role = /Role: (\w+)\.$/.exec(description)?.[1]
  if (security?.length === 0) return ''
  return `\`${scope ?? role}\``
}

describe.each(PAGES)('%s names only', page => {
  const text = readFileSync(join(ROOT, page), 'utf8')

  test('settings that there are', () => {
    const known = [...Object.keys(settingsSchema.shape), ...OTHER_VARIABLES]
    const named = [...text.matchAll(/(?:^|`|export |\s)([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)=/gm)].map(match => match[1]!)
    expect(named.filter(name => !known.includes(name))).toEqual([])
  })

  test('routes that there are', () => {
    const known = new Set(routes.map(({ method, path }) => `${method} ${comparable(path)}`))
    const named = [...text.matchAll(/`(GET|POST|PATCH|PUT|DELETE) (\/[^\s`?]*)[^`]*`/g)]
    const unknown = named.map(match => `${match[1]} ${comparable(match[2]!)}`).filter(name => !known.has(name))
    expect(unknown).toEqual([])
  })

  test('commands that there are, with options that they have', () => {
    for (const [name = '', ...rest] of commandsIn(text)) {
      expect(Object.keys(commands)).toContain(name)
      const { words } = readInput(rest, commands[name]!)
      const forms = commands[name]!.usage.map(([form]) => form)
      const actions = forms.map(form => /^\w+ ([a-z][a-z-]+)/.exec(form)?.[1])
      if (actions.every(action => action !== undefined)) expect(actions, rest.join(' ')).toContain(words[0])
    }
  })
})

/** Whatever a page calls a parameter. */
const comparable = (path: string) => path.replaceAll(/(\{\w+\}|:\w+|\$\w+)/g, '*')

/** Each `email-gateway …` of the shell blocks, and each between backticks that has no placeholder. */
function commandsIn(text: string): string[][] {
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(match => match[1]!.replaceAll('\\\n', ' '))
  const lines = blocks.flatMap(block => block.split('\n')).filter(line => !line.startsWith('#'))
  const spans = [...text.matchAll(/`((?:npx )?email-gateway [^`\n]+)`/g)].map(match => match[1]!)
  return [...lines, ...spans.filter(span => !/…|[A-Z]{2}/.test(span))].flatMap(line => {
    const [, call] = /(?:^|npx |bin\/)email-gateway(?:\.js)? ([^)|]*)/.exec(line) ?? []
    return call && !call.startsWith('help') ? [shellWords(call)] : []
  })
}
