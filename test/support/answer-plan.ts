import { setTimeout as sleep } from 'node:timers/promises'

/**
 * How a fake provider answers one request. `ok` works for latencyMs, accepts and answers; `slow` accepts at once and
 * answers late. `hang` reads the request and never answers; `reset` cuts the connection. `accepted` says whether the
 * message counts as taken all the same.
 */
export type FakeAnswer =
  | { kind: 'ok'; latencyMs?: number }
  | { kind: 'slow'; latencyMs: number }
  | { kind: 'error'; status: number; name: string; message?: string; latencyMs?: number }
  | { kind: 'text'; status: number; body: string; contentType?: string; accepted?: boolean }
  | { kind: 'hang'; accepted?: boolean }
  | { kind: 'reset'; when: 'before' | 'after'; accepted?: boolean }

/** The first rule that fits answers. Without `match` it fits everything; with `next` only that many requests. */
type FakeRule = {
  match?: { recipient?: string; localPart?: string; outboxId?: string; tag?: { name: string; value?: string } }
  next?: number
  answer: FakeAnswer
}

export type FakePlan = { default: FakeAnswer; rules: FakeRule[] }

/** What the rules look at. */
export type FakeMail = { recipients: string[]; tags: Record<string, string> }

export const EVERYTHING_OK: FakePlan = { default: { kind: 'ok' }, rules: [] }

/** `next` counts down as the answers are given out. */
export function takeAnswer(plan: FakePlan, mail: FakeMail): FakeAnswer {
  const rule = plan.rules.find(one => one.next !== 0 && fits(one, mail))
  return take(rule) ?? plan.default
}

/** Before anything is read, only an answer that needs no reading can be given: null otherwise. */
export function takeUnread(plan: FakePlan): FakeAnswer | null {
  const first = plan.rules.find(one => one.next !== 0)
  if (first && !first.match && isUnread(first.answer)) return take(first)!
  return !first && isUnread(plan.default) ? plan.default : null
}

const isUnread = (answer: FakeAnswer) => answer.kind === 'reset' && answer.when === 'before'

function take(rule: FakeRule | undefined): FakeAnswer | undefined {
  if (rule?.next) rule.next -= 1
  return rule?.answer
}

function fits({ match = {} }: FakeRule, { recipients, tags }: FakeMail): boolean {
  const { recipient, localPart, outboxId, tag } = match
  if (recipient && !recipients.includes(recipient.toLowerCase())) return false
  if (localPart && !recipients.some(one => one.startsWith(`${localPart.toLowerCase()}@`))) return false
  if (outboxId && tags.outbox_id !== outboxId) return false
  return !tag || (tag.name in tags && (tag.value === undefined || tags[tag.name] === tag.value))
}

type Actions = { accept: () => Promise<void>; answer: (how: 'ok' | FakeAnswer) => void; cut: () => void }

/** Plays one answer, whatever the protocol: accepting always comes before answering. */
export async function play(answer: FakeAnswer, { accept, answer: reply, cut }: Actions): Promise<void> {
  if ((answer.kind === 'ok' || answer.kind === 'error') && answer.latencyMs) await sleep(answer.latencyMs)
  if (answer.kind === 'ok' || answer.kind === 'slow' || ('accepted' in answer && answer.accepted)) await accept()
  if (answer.kind === 'slow') await sleep(answer.latencyMs)
  if (answer.kind === 'reset') cut()
  else if (answer.kind === 'ok' || answer.kind === 'slow') reply('ok')
  else if (answer.kind !== 'hang') reply(answer)
}
