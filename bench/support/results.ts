import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'

const FILE = join(import.meta.dirname, '../../../bench/RESULTS.md')
const HEAD = `# Benchmarks

Every figure is a ratio between ours and a reference measured in the same run, rounds interleaved: median (lowest–highest).
Absolute figures are there to make sense of the ratios; they belong to the machine.
`

/** Replaces one benchmark's section, keeps the others. */
export function writeResults(name: string, lines: string[]): void {
  const text = existsSync(FILE) ? readFileSync(FILE, 'utf8') : HEAD
  const section = [
    `## ${name}`,
    '',
    `\`npm run bench ${name}\`, ${new Date().toISOString().slice(0, 10)}, ${machine()}`,
    '',
    ...lines,
    '',
  ].join('\n')
  const others = text.split(/^(?=## )/m).filter(part => !part.startsWith(`## ${name}\n`))
  writeFileSync(FILE, [...others.map(part => part.trimEnd()), section].join('\n\n'))
  console.log(section)
}

function machine(): string {
  return `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`
}
