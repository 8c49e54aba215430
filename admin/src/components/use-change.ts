import { type QueryClient, type QueryKey, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { type Answer, take } from '../api/client.ts'
import { useErrorText } from './error-text.ts'
import { notify } from './notify.ts'

/** A path with everything below it, or one query. */
type Changed = string | QueryKey

const isOneOf =
  (changed: Changed[]) =>
  ({ queryKey }: { queryKey: QueryKey }) =>
    changed.some(what =>
      typeof what === 'string'
        ? String(queryKey[0]).startsWith(what)
        : JSON.stringify(what) === JSON.stringify(queryKey),
    )

/** Has what was changed asked for again. */
export const refresh = (client: QueryClient, changed: Changed[]) =>
  client.invalidateQueries({ predicate: isOneOf(changed) })

/** Drops the answers that are not on the screen: an old one would be there for a moment after going back. */
export const forget = (client: QueryClient, ...changed: Changed[]) =>
  client.removeQueries({ predicate: isOneOf(changed), type: 'inactive' })

/**
 * A change: the request, a toast when it is done, and what it changed is asked for again. A refusal is thrown, for the dialog to show;
 * what is on the screen may be the reason for it, and is asked for again, too.
 * `leave` comes before the second reading: what is deleted must not be asked for again.
 */
export function useChange(...changed: Changed[]) {
  const client = useQueryClient()
  return async <T>(
    request: Promise<Answer<T>>,
    done?: ReactNode | ((answer: T) => ReactNode),
    leave?: (answer: T) => Promise<void>,
  ): Promise<T> => {
    const answer = await take(request).catch(refusal => {
      void refresh(client, changed)
      throw refusal
    })
    const text = typeof done === 'function' ? done(answer) : done
    if (text) notify.done(text)
    await leave?.(answer)
    await refresh(client, changed)
    return answer
  }
}

/** For a change without a dialog: a refusal is a toast. */
export function useNotifyRefusal() {
  const errorText = useErrorText()
  return (change: Promise<unknown>) => change.catch(error => notify.failed(errorText(error)))
}
