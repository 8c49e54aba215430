export type RatePassed = {
  what: 'bounced' | 'complained'
  rate: number
  events: number
  sent: number
  hours: number
  limit: number
}

const SENTENCE =
  /^(\d+\.\d+) % (bounced for good|complained) \((\d+) of (\d+) recipients in (\d+) hours, the limit is (\d+\.\d+) %\)$/

/** The gateway warns and pauses with sentences of one form (src/companies/reputation.ts). null: somebody else wrote the text. */
export function parseReputationReason(text: string): RatePassed[] | null {
  const found = text.split('; ').map(sentence => SENTENCE.exec(sentence))
  if (!found.every(match => match !== null)) return null
  return found.map(([, rate, what, events, sent, hours, limit]) => ({
    what: what === 'complained' ? 'complained' : 'bounced',
    rate: Number(rate) / 100,
    events: Number(events),
    sent: Number(sent),
    hours: Number(hours),
    limit: Number(limit) / 100,
  }))
}
