import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestCli, testCli } from '../support/cli.ts'
import { cleanUp } from '../support/process.ts'

let cli: TestCli
let folder: string
beforeAll(async () => {
  cli = await testCli()
  folder = await mkdtemp(join(tmpdir(), 'templates-'))
  await cli.json('company', 'create', 'acme')
})
afterAll(async () => {
  await cleanUp()
  await rm(folder, { recursive: true, force: true })
})

test('a template is pushed from files, published, shown and sent', async () => {
  const path = join(folder, 'order_sent')
  const template = (...args: string[]) => cli.json<Record<string, unknown>>('template', ...args, '--company', 'acme')
  await writeFile(`${path}.html`, '<p>Hello {{ user.name }}</p>')
  expect(await template('push', path, '--subject', 'Order {{ number }}')).toMatchObject({ draft: 1, published: null })
  expect(await template('publish', 'order_sent')).toMatchObject({ published: 1 })
  await writeFile(`${path}.txt`, 'Hello {{ user.name }}')
  expect(await template('push', `${path}.html`, '--publish')).toMatchObject({ published: 2, draft: null })
  expect(await template('show', 'order_sent')).toMatchObject({
    version: {
      number: 2,
      subject: 'Order {{ number }}',
      text: 'Hello {{ user.name }}',
      variables: ['number', 'user.name'],
    },
  })

  const named = ['--variable', 'user.name=Ana = <b>', '--variable', 'number=7']
  const { outboxId } = await cli.json(
    'send',
    '--company',
    'acme',
    '--to',
    'a@example.com',
    '--template',
    'order_sent',
    ...named,
  )
  expect(await cli.json('email', 'show', outboxId as string)).toMatchObject({
    subject: 'Order 7',
    templateType: 'order_sent',
  })
  const short = await cli.fails(1, 'send', '--company', 'acme', '--to', 'a@example.com', '--template', 'order_sent')
  expect(short).toContain('variables.user.name')
})

test('publish of a starter says that it is in use, and how to replace it', async () => {
  const said = await cli.fails(1, 'template', 'publish', 'welcome_user', '--company', 'acme')
  expect(said).toMatch(/^welcome_user is a starter: it is in use already .* template push welcome_user --subject TEXT/)
  expect(await cli.fails(1, 'template', 'publish', 'nothing', '--company', 'acme')).toContain('has no template nothing')
})

test('a template that cannot be parsed is refused', async () => {
  const push = (name: string) =>
    ['template', 'push', join(folder, name), '--company', 'acme', '--subject', 'x'] as const
  await writeFile(join(folder, 'broken.html'), '{% if x %}')
  expect(await cli.fails(1, ...push('broken'))).toContain('not closed')
})
