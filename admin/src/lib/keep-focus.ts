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
    const target = fallback?.isConnected ? fallback : (drawer ?? document.getElementById('content'))
    target?.focus({ preventScroll: true })
  }, AFTER_DIALOG_MS)
}
