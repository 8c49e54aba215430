import { differingSetting, providerNames } from './destinations.ts'

/** Why a process may not claim e-mails. `refused`: the configuration must change. `wait`: until the processes that differ have stopped. */
export type Denial = { kind: 'refused' | 'wait'; reason: string }

export type ProvidersInUse = {
  /** The destinations recorded in the database, which its e-mails were accepted for. */
  recorded: string[] | null
  /** Running processes with other destinations, named "worker host:pid". */
  differing: { process: string; destinations: string[] }[]
}

/** In capture mode nothing leaves the gateway and e-mails are still marked as sent, so real mail must not be captured by mistake. */
export const isCaptureOnly = (providers: readonly string[]): boolean => providers.includes('capture')

/** Names the setting that makes this process send to another destination than the one recorded in the database. */
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
      : [{ process: 'a process that ended a moment ago without signing off', destinations: recorded ?? [] }]
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
