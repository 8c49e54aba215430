import { differingSetting, providerNames } from './destinations.ts'

/** Why a process takes no mail: `refused` stays so until somebody changes something, `wait` ends with the processes that differ. */
export type Denial = { kind: 'refused' | 'wait'; reason: string }

export type ProvidersInUse = {
  /** The destinations of the database: what its mail was accepted for. */
  recorded: string[] | null
  /** Living processes that send elsewhere, as "worker host:pid". */
  differing: { process: string; destinations: string[] }[]
}

/** In capture mode nothing is sent, and what was captured counts as sent: that must not happen to mail that somebody expects. */
export const isCaptureOnly = (providers: readonly string[]): boolean => providers.includes('capture')

/** The sentence for a process that would send elsewhere than the mail of this database goes. It names the setting. */
export function explainDenial(
  own: readonly string[],
  { recorded, differing }: ProvidersInUse,
  allowCapture: boolean,
): Denial {
  if (isCaptureOnly(own) && recorded && !isCaptureOnly(recorded) && !allowCapture) {
    const theirs = providerNames(recorded).join(',')
    return {
      kind: 'refused',
      reason:
        `EMAIL_PROVIDER is ${own.join(',')} here (the default when it is not set), but the mail of this database is for ${theirs}: ` +
        `it would go to the local inbox and count as sent. Set EMAIL_PROVIDER=${theirs}; if nothing is to be sent any more, ` +
        'stop every process and start once with --allow-capture.',
    }
  }
  const others =
    differing.length > 0
      ? differing
      : [{ process: 'a process that ended without saying so a moment ago', destinations: recorded ?? [] }]
  return {
    kind: 'wait',
    reason: `${difference(own, others)}: this process takes no mail until those that differ are stopped.`,
  }
}

function difference(own: readonly string[], others: ProvidersInUse['differing']): string {
  const settings = [...new Set(others.map(({ destinations }) => differingSetting(own, destinations)))]
  const listed = (shown: (destinations: readonly string[]) => string) =>
    others.map(({ process, destinations }) => `${shown(destinations)} at ${process}`).join(', ')
  if (settings.includes('EMAIL_PROVIDER')) {
    const names = (destinations: readonly string[]) => providerNames(destinations).join(',')
    return `EMAIL_PROVIDER is ${names(own)} here and ${listed(names)}`
  }
  return `${settings.join(', ')} leads to ${own.join(',')} here and to ${listed(destinations => destinations.join(','))}`
}
