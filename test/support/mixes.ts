import type { Deployment } from './deployment.ts'
import type { Fault } from './faults.ts'

export type Member = { name: string; weight: number }

export async function addCompanies(deployment: Deployment): Promise<Map<string, Member>> {
  for (const weight of [1, 1, 2, 1, 3, 1]) await deployment.addCompany({ weight })
  return new Map(deployment.companies.map(company => [company.name, company]))
}

/**
 * HTML whose text is made on the event loop, or, when it is long, in a thread: there it is in flight for longer than the others, which may
 * be sent before it.
 */
export const HTML = { short: htmlOf(500), long: htmlOf(2_000) }

function htmlOf(sentences: number): string {
  return `<p>${'It works. '.repeat(sentences)}</p>`
}

/** All of it waits before anybody is there to send it; a quarter of it has HTML. */
export async function postMix(deployment: Deployment, emails: number, html: string, { between }: Fault): Promise<void> {
  const everybody = [...deployment.companies]
  for (let left = emails; left > 0; ) {
    const count = Math.min(left, between(1, 40))
    deployment.companies.splice(0, deployment.companies.length, everybody[between(0, everybody.length - 1)]!)
    await deployment.post(count, () => ({ priority: between(1, 10), ...(between(0, 3) === 0 && { html }) }))
    left -= count
  }
  deployment.companies.splice(0, deployment.companies.length, ...everybody)
}

export type Run = { member: Member; place: number; length: number; turns: number }

/** Each place in the order, with the length of the run that it is in, while anybody else still waits. */
export function runsOf(order: Member[], perTurn: number): Run[] {
  const left = new Map<Member, number>()
  for (const member of order) left.set(member, (left.get(member) ?? 0) + 1)
  let length = 0
  return order.flatMap((member, place) => {
    length = order[place - 1] === member ? length + 1 : 1
    left.set(member, left.get(member)! - 1)
    const others = [...left].some(([other, count]) => other !== member && count > 0)
    return others ? [{ member, place, length, turns: length / (perTurn * member.weight) }] : []
  })
}

export const longestOf = (runs: Run[]) => Math.max(0, ...runs.map(run => run.turns))

/** What stands around a run, for a failure's message. */
export function around(order: Member[], { place, length }: Run): string {
  const names = order.slice(Math.max(0, place - length - 5), place + 5).map(one => one.name)
  return `at ${place}: ${names.join(' ')}`
}
