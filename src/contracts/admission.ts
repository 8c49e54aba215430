/** Why a process takes no mail: `refused` stays so until somebody changes something, `wait` ends with the processes that differ. */
export type Denial = { kind: 'refused' | 'wait'; reason: string }

export type ProvidersInUse = {
  /** Those of the database: what its mail was accepted for. */
  recorded: string[] | null
  /** Living processes that take mail with other providers, as "worker host:pid". */
  differing: { process: string; providers: string[] }[]
}

/** In capture mode nothing is sent, and what was captured counts as sent: that must not happen to mail that somebody expects. */
export const isCaptureOnly = (providers: readonly string[]): boolean => providers.includes('capture')

/** The sentence for a process whose providers are not those of the database. It names the setting. */
export function explainDenial(
  own: readonly string[],
  { recorded, differing }: ProvidersInUse,
  allowCapture: boolean,
): Denial {
  const ownText = own.join(',')
  if (isCaptureOnly(own) && recorded && !isCaptureOnly(recorded) && !allowCapture) {
    const theirs = recorded.join(',')
    return {
      kind: 'refused',
      reason:
        `EMAIL_PROVIDER is ${ownText} here (the default when it is not set), but the mail of this database is for ${theirs}: ` +
        `it would go to the local inbox and count as sent. Set EMAIL_PROVIDER=${theirs}; if nothing is to be sent any more, ` +
        'stop every process and start once with --allow-capture.',
    }
  }
  const others =
    differing.length > 0
      ? differing.map(({ process, providers }) => `${providers.join(',')} at ${process}`).join(', ')
      : `${(recorded ?? []).join(',')} at a process that ended without saying so a moment ago`
  return {
    kind: 'wait',
    reason: `EMAIL_PROVIDER is ${ownText} here and ${others}: this process takes no mail until those that differ are stopped.`,
  }
}
