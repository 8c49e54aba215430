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
    const one = { close: () => latest.current() }
    open.push(one)
    return () => void open.splice(open.indexOf(one), 1)
  }, [opened])
}

function closeLast(event: KeyboardEvent): void {
  if (event.key !== 'Escape' || event.isComposing) return
  // An open list of a field: Mantine closes the list.
  const belongsToField = (event.target as Element | null)?.getAttribute?.('data-mantine-stop-propagation') === 'true'
  if (!belongsToField) open.at(-1)?.close()
}

window.addEventListener('keydown', closeLast, { capture: true })
