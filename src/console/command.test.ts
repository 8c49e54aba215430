import { expect, test, vi } from 'vitest'
import { Problem } from '../web/problem.ts'
import { readInput } from './arguments.ts'
import { command, option, UsageError, word } from './command.ts'
import { printFailure } from './report.ts'

test('a refusal of a route that a command calls is printed with its code, and exits with 1', async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  expect(await printFailure(new Problem('NOT_SUPPRESSED'), true, 'usage')).toBe(1)
  const [[printed]] = log.mock.calls as [[string]]
  log.mockRestore()
  expect(JSON.parse(printed)).toEqual({
    error: { code: 'NOT_SUPPRESSED', message: 'The address is not on the suppression list.' },
  })
})

const thing = command(
  {
    name: 'thing',
    options: {
      name: option.required(option.text('TEXT', 'its name')),
      colour: option.oneOf(['RED', 'BLUE'], 'its colour'),
      weight: option.wholeNumber('N', 'its weight', { from: 0, to: 10, meaning: 'none' }),
      tag: option.many('TEXT', 'a tag'),
      all: option.flag('all of them'),
    },
  },
  action => ({
    add: action(
      {
        words: [word('SIZE', given => Number(given)), '[FILE]'],
        form: '--name TEXT [OPTIONS]',
        what: 'add one',
        options: ['name', 'colour', 'weight', 'tag'],
        opens: 'nothing',
      },
      async ({ words: [size, file], options: { name, colour, weight = 1, tag } }) => ({
        json: { size: size + 1, file, name: name.trim(), colour, weight, tag },
        lines: [],
      }),
    ),
    drop: action(
      {
        words: ['ID…'],
        what: 'drop some',
        options: ['all'],
        opens: 'nothing',
        check({ words, options }) {
          if (options.all && words.length > 1) throw new UsageError('give ids or --all')
        },
      },
      async ({ words, options }) => ({ json: { words, all: options.all }, lines: [] }),
    ),
  }),
)

const run = async (line: string) => (await thing.run(readInput(line.split(' ').filter(Boolean), thing)))?.json

test('usage, numbers of words and takers of options follow from the actions', () => {
  expect(thing.usage).toEqual([
    ['thing add SIZE [FILE] --name TEXT [OPTIONS]', 'add one'],
    ['thing drop ID…', 'drop some'],
  ])
  expect(thing.words).toEqual({ add: 2, drop: Number.POSITIVE_INFINITY })
  expect([thing.options.all!.actions, thing.options.name!.actions]).toEqual([['drop'], ['add']])
})

test('an action gets its words and options with their types', async () => {
  expect(await run('add 4 --name x --colour red --tag a --tag b')).toEqual({
    size: 5,
    file: undefined,
    name: 'x',
    colour: 'RED',
    weight: 1,
    tag: ['a', 'b'],
  })
  expect(await run('drop a b')).toEqual({ words: ['a', 'b'], all: false })
})

test.each([
  ['', 'thing needs add or drop'],
  ['ad', 'thing needs add or drop, not "ad"; did you mean add?'],
  ['add', 'SIZE is missing'],
  ['add 4', '--name TEXT is missing'],
  ['add 4 f more --name x', 'unexpected argument "more"'],
  ['add 4 --name x --all', '--all cannot be used here'],
  ['add 4 --name x --colour green', '--colour must be RED, BLUE'],
  ['add 4 --name x --weight 11', '--weight must be a whole number from 0 (none) to 10'],
  ['drop', 'ID is missing'],
  ['drop a b --all', 'give ids or --all'],
])('thing %s: %s', async (line, sentence) => {
  await expect(run(line)).rejects.toThrow(new UsageError(sentence))
})
