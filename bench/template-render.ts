import { parseTemplate } from '../src/templates/parse.ts'
import { renderTemplate } from '../src/templates/render.ts'
import { spread } from './support/measure.ts'
import { writeResults } from './support/results.ts'
import { interleave, RATIO_HEAD, ROUNDS } from './support/rounds.ts'

const VARIABLES = 50
const HTML_CHARS = 20 * 1024
const RENDERS = 2_000

/** A table of 20 KB that uses 50 variables. */
function makePage() {
  const names = Array.from({ length: VARIABLES }, (_, index) => `field_${index}`)
  const rowChars = HTML_CHARS / VARIABLES
  const row = (name: string) => `<tr><td>{{ user.${name} }}</td><td>${'x'.repeat(rowChars)}</td></tr>\n`
  const html = names.map(name => row(name).replace(/x{50}/, '')).join('')
  const user = Object.fromEntries(names.map(name => [name, `Maria <${name}> & filhos`]))
  return { source: { subject: 'Hello {{ user.field_0 }}', html, text: null }, variables: { user } }
}

/** Processor time, which other work on the machine does not change much. */
function cpuMs(times: number, work: () => unknown): number {
  const before = process.cpuUsage()
  for (let count = 0; count < times; count++) work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / times
}

/** What rendering adds to an accept that names a template: parsed once, rendered each time. */
export async function benchTemplateRender(): Promise<void> {
  const { source, variables } = makePage()
  const parsed = parseTemplate(source)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  const figures = await interleave(
    {
      render: async () =>
        cpuMs(RENDERS, () => {
          if (!renderTemplate(parsed.template, variables).ok) throw new Error('It was refused')
        }),
      parse: async () => cpuMs(RENDERS / 10, () => parseTemplate(source)),
    },
    { warmUpRounds: 1 },
  )
  writeResults('template-render', [
    `${(source.html.length / 1024).toFixed(1)} KB of HTML with ${VARIABLES} variables that need escaping, ${RENDERS} times in each of ${ROUNDS} rounds.`,
    '',
    ...RATIO_HEAD,
    `| rendering, ms of CPU | ≤ 0.5 | ${spread(figures.render, 3)} |`,
    `| parsing, ms of CPU (once for each version and process) | | ${spread(figures.parse, 3)} |`,
  ])
}
