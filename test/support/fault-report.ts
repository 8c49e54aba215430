import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'vitest'
import type { Reporter, TestCase } from 'vitest/node'

export type FaultRow = {
  fault: string
  seed: number
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

This is a reference: what was done to running gateways, and what was checked. \`npm run faults\` writes it. The tests use real processes. The provider is a process
of its own, which writes each accepted message to disk before it answers; that log is what everything is compared with. A row is replaced when its fault is
tested again.

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

function lineOf({ fault, seed, done, checked, figures }: FaultRow): string {
  const measured = Object.entries(figures).map(([name, value]) => `${name} ${value}`)
  const date = new Date().toISOString().slice(0, 10)
  return `| ${[fault, `${done}; seed ${seed}`, checked, measured.join('; '), date].join(' | ')} |`
}
