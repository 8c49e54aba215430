import { useEffect, useRef } from 'react'

/** What is open, the last on top. */
const open: { close: () => void }[] = []

/**
 * Escape closes what was opened last, and nothing below it. Dialogs and drawers of Mantine each listen for themselves, and one key
 * would close all of them; so the theme turns that off, and they use this instead.
 */
export function useEscape(opened: boolean, onClose: () => void): void {
  const latest = useRef(onClose)
  useEffect(() => {
    latest.current = onClose
  })
  useEffect(() => {
    if (!opened) return
    const entry = { close: () => latest.current() }
    open.push(entry)
    return () => void open.splice(open.indexOf(entry), 1)
  }, [opened])
}

function closeLast(event: KeyboardEvent): void {
  if (event.key !== 'Escape' || event.isComposing) return
  // An open list of a field: Mantine closes the list.
  const belongsToField = (event.target as Element | null)?.getAttribute?.('data-mantine-stop-propagation') === 'true'
  if (!belongsToField) open.at(-1)?.close()
}

window.addEventListener('keydown', closeLast, { capture: true })

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
