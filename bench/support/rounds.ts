import { ratios, spread } from './measure.ts'

export const ROUNDS = Number(process.env.ROUNDS ?? 5)

export type Figures<Name extends string, Figure> = Record<Name, Figure[]>

type Options<Figure> = {
  rounds?: number
  /** Not counted: compilers, caches and the first log segments of Postgres warm up. */
  warmUpRounds?: number
  show?: (figure: Figure) => string
}

/**
 * Every measurement once per round, in turn, so that what slows the machine slows all of them; every other round in the reverse
 * order, so that none always follows the same one.
 */
export async function interleave<Name extends string, Figure>(
  measurements: Record<Name, () => Promise<Figure>>,
  { rounds = ROUNDS, warmUpRounds = 0, show = shown }: Options<Figure> = {},
): Promise<Figures<Name, Figure>> {
  const names = Object.keys(measurements) as Name[]
  const figures = Object.fromEntries(names.map(name => [name, []])) as unknown as Figures<Name, Figure>
  for (let round = 1 - warmUpRounds; round <= rounds; round++) {
    for (const name of round % 2 === 0 ? names.toReversed() : names) {
      const figure = await measurements[name]()
      console.log(`${round > 0 ? `round ${round}` : 'warm-up'} ${name}: ${show(figure)}`)
      if (round > 0) figures[name].push(figure)
    }
  }
  return figures
}

export const RATIO_HEAD = ['| figure | target | measured |', '|---|---|---|']

/** One row of the results: ours ÷ reference, round by round. */
export function ratioRow(what: string, target: string, ours: number[], reference: number[], digits = 2): string {
  return `| ${what} | ${target} | ${spread(ratios(ours, reference), digits)} |`
}

/** What makes sense of the ratios: `| name | median (lowest–highest) |` per measurement. */
export function absoluteTable<Name extends string>(unit: string, figures: Figures<Name, number>, digits = 0): string[] {
  const rows = Object.entries<number[]>(figures).map(([name, values]) => `| ${name} | ${spread(values, digits)} |`)
  return [`| | ${unit} |`, '|---|---|', ...rows]
}

function shown(figure: unknown): string {
  return typeof figure === 'number' ? figure.toFixed(figure < 100 ? 2 : 0) : JSON.stringify(figure)
}
