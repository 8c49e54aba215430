import type { Command, OptionSpec } from './command.ts'

type Commands = Record<string, Command>

const INDENT = '  '
const JSON_OPTION: OptionSpec = {
  type: 'boolean',
  help: 'one JSON value on standard output and nothing else; an error is {"error":{"code","message"}}',
}

export function overview(commands: Commands): string {
  const names = Object.keys(commands)
  const width = Math.max(...names.map(name => name.length))
  return [
    'Usage: email-gateway COMMAND [OPTIONS]',
    '',
    ...names.map(name => `${INDENT}${name.padEnd(width)}  ${commands[name]!.summary}`),
    `${INDENT}${'help'.padEnd(width)}  show the usage of a command: email-gateway help COMMAND`,
    '',
    'Every command takes --json: one JSON value on standard output and nothing else, {"error":{"code","message"}} for an error.',
    'Exit code 0: done, 1: failed, 2: wrong arguments. email-gateway --version prints the version.',
  ].join('\n')
}

export function helpOf(command: Command): string {
  return [forms(command), optionLines({ ...command.options, json: JSON_OPTION }), ...(command.notes ?? [])].join('\n\n')
}

/** Printed after wrong arguments. */
export function usageOf(name: string, command: Command): string {
  return `${forms(command)}\n\nMore: email-gateway help ${name}`
}

function forms({ usage }: Command): string {
  return usage.map(([form, what]) => `email-gateway ${form}\n${INDENT}${INDENT}${what}`).join('\n')
}

function optionLines(options: Command['options']): string {
  const all = Object.entries(options).map(([name, option]) => ({
    flag: option.type === 'string' ? `--${name} ${option.value}` : `--${name}`,
    help: option.help,
  }))
  const width = Math.max(...all.map(({ flag }) => flag.length))
  return ['Options', ...all.map(({ flag, help }) => `${INDENT}${flag.padEnd(width)}  ${help}`)].join('\n')
}
