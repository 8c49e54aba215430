import {
  classifyProviderError,
  type ProviderError,
  type ProviderFailure,
  type ProviderName,
  ruleForName,
} from '../contracts/provider-errors/classify.ts'
import { TLS_HANDSHAKE } from '../contracts/provider-errors/network.ts'

type Witness = { name?: string; code?: unknown; message?: string; cause?: unknown; errors?: unknown[] }

/**
 * What a call without an answer threw, in the words of the error tables. fetch hides the reason in `cause`, a host with
 * several addresses in `errors`; both wrappers say nothing themselves.
 */
export function describeThrown(error: unknown): Pick<ProviderError, 'name' | 'networkCode' | 'message'> {
  const chain = chainOf(error)
  const coded = chain.find(({ code }) => typeof code === 'string')
  // The innermost message is the one that says at which step a connection failed.
  const message = chain.findLast(link => link.message)?.message ?? String(error)
  return { name: chain[0]?.name, networkCode: coded?.code as string | undefined, message }
}

const MAX_DEPTH = 5

function chainOf(error: unknown): Witness[] {
  const chain: Witness[] = []
  let next: unknown = error
  while (typeof next === 'object' && next !== null && chain.length < MAX_DEPTH) {
    const witness: Witness = next
    chain.push(witness)
    next = witness.cause ?? witness.errors?.[0]
  }
  return chain
}

/**
 * Gives an error that came before the end of the TLS handshake the code that says so, unless its own code proves already that
 * nothing left (no connection, a bad certificate).
 */
export function brokeInHandshake(error: Error & { code?: string; syscall?: string }): void {
  const rule = ruleForName(error.code ?? '')
  const isHandshake = error.syscall !== 'connect' && !(error instanceof AggregateError)
  if (isHandshake && (!rule || rule.ambiguous)) error.code = TLS_HANDSHAKE
}

/**
 * The call was ended by its signal. How far it had come is for the caller to say: the message may have left, there was not
 * even a connection (nor the credentials for one), or neither is the case.
 */
export function timedOut(provider: ProviderName, when: 'left' | 'unconnected' | 'unsent'): ProviderFailure {
  const mayHaveLeft = when === 'left'
  const message = mayHaveLeft ? 'No answer within the time limit' : 'Not handed over within the time limit'
  const failure = classifyProviderError({ provider, name: 'AbortError', message })
  return { ...failure, ambiguous: mayHaveLeft, unconnected: when === 'unconnected' }
}

/** Rejects as soon as the signal is aborted, also where the work does not listen to it. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
