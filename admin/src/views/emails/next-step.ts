/** What happens next, by how the gateway's explanation begins (src/contracts/explain.ts); the texts are in `emails.explain.next`. */
const BEGINNINGS = [
  ['It is sent when an administrator resumes', 'paused'],
  ['One e-mail tries again', 'probe'],
  ['It becomes ready then', 'due'],
  ['It is sent when its turn comes', 'turn'],
  ['It is picked up within seconds', 'soon'],
  ['It follows within seconds', 'soon'],
  ['It is sent within moments', 'soon'],
  ['The next free worker', 'soon'],
  ['The provider answers, or', 'answer'],
  ['Only a provider event moves it', 'hold'],
  ['A provider event settles it', 'unlessReported'],
  ['It can be sent again (resend) once the address works', 'resend'],
  ['It can be sent again (resend) once the address is no longer', 'resendUnsuppressed'],
  ['It is in the dead letter queue', 'replay'],
  ['It can be replayed', 'replayExpired'],
  ['Its content was purged', 'purged'],
] as const

export type NextStep = (typeof BEGINNINGS)[number][1]

/** Undefined where nothing is said that is known here. */
export const nextStepOf = (next: string | null): NextStep | undefined =>
  BEGINNINGS.find(([beginning]) => next?.startsWith(beginning))?.[1]

/** Of "Held: the company is paused (The invoice is open)." */
export const pauseReasonOf = (summary: string): string | undefined =>
  /^Held: the company is paused \((.*?)\)\.(?= |$)/.exec(summary)?.[1]
