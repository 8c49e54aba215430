import { useEffect } from 'react'

/** After a dialog has closed and given the focus back. */
const AFTER_DIALOG_MS = 250

/**
 * The button that began a change is often gone when the change is done, and the focus would fall to the start of the page. It goes to
 * `fallback` then, to the open drawer, or to the content.
 */
export function keepFocus(fallback?: HTMLElement | null): void {
  setTimeout(() => {
    if (document.activeElement !== null && document.activeElement !== document.body) return
    const drawer = document.querySelector<HTMLElement>('[role="dialog"]')
    for (const target of [fallback, drawer, document.getElementById('content')]) {
      // One that is gone or disabled does not take it.
      target?.focus({ preventScroll: true })
      if (document.activeElement === target) return
    }
  }, AFTER_DIALOG_MS)
}

/**
 * The focus goes back to what opened a dialog, unless another dialog has taken it meanwhile. Mantine gives it back even then, and only to
 * what opened a dialog that was mounted before: its own way is turned off (`returnFocus={false}`).
 */
export function useFocusKept(opened: boolean): void {
  useEffect(() => {
    if (!opened) return
    const before = document.activeElement
    return () => keepFocus(before instanceof HTMLElement && before !== document.body ? before : null)
  }, [opened])
}
