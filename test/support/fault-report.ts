import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'vitest'
import type { Reporter, TestCase } from 'vitest/node'

export type FaultRow = {
  fault: string
  done: string
  checked: string
  figures: Record<string, number | string>
}

declare module 'vitest' {
  interface TaskMeta {
    fault?: FaultRow
  }
}

/** Called by a test that has proven something; the reporter below writes it down. */
export function recordFault(context: TestContext, row: FaultRow): void {
  context.task.meta.fault = row
}

const FILE = join(import.meta.dirname, '../../docs/faults.md')
const HEAD = `# Fault tests

What was done to running gateways, and what was checked. \`npm run faults\` writes this page, from real processes. The provider is a process of its own, which writes each accepted message to disk before it answers; everything
is compared with that log. A row is replaced when its fault is tested again. Duplicates and unknown outcomes are shown where there were any.

*The promise*: every 202 ends; \`SENT_ATTEMPT\` is committed before the message; nothing is sent twice but by \`onUnknown: resend\` after \`UNKNOWN\`, and nothing with \`hold\`. Where processes are killed, half of the e-mails have \`hold\`.

*Redis is disposable*: 202 all the time; each sent once; no UNKNOWN; sent within 30 s of the return of Redis, and a second for each 100 that waited.

| fault | what was done | what was checked | figures | date |
|---|---|---|---|---|
`

/** Keeps docs/faults.md: rows of this run, and those of earlier runs for faults that were not tried in this one. */
export default class FaultReport implements Reporter {
  /** After each test, so that a run that is stopped keeps what it has proven. */
  onTestCaseResult(test: TestCase): void {
    const row = test.meta().fault
    if (!row) return
    const lines = readLines()
    lines.set(row.fault, lineOf(row))
    writeFileSync(FILE, `${HEAD}${[...lines.values()].join('\n')}\n`)
  }
}

function readLines(): Map<string, string> {
  const text = existsSync(FILE) ? readFileSync(FILE, 'utf8') : ''
  const lines = text.split('\n').filter(line => /^\| (?!fault )/.test(line))
  return new Map(lines.map(line => [line.split(' | ')[0]!.slice(2), line]))
}

/** Of the rest the test has made sure; the column before says so. */
const NOT_SHOWN = /^(accepted|resolved by|held to the end|waiting)/
const ONLY_IF_ANY = ['duplicates', 'unknown']

function lineOf({ fault, done, checked, figures }: FaultRow): string {
  const shown = Object.entries(figures).filter(
    ([name, value]) => !NOT_SHOWN.test(name) && !(value === 0 && ONLY_IF_ANY.includes(name)),
  )
  const measured = shown.map(([name, value]) => `${name} ${value}`)
  const date = new Date().toISOString().slice(0, 10)
  return `| ${[fault, done, checked, measured.join('; '), date].join(' | ')} |`
}
