import { useEffect, useRef, useState } from 'react'

type Actions = { open: (key: string) => void; select: (key: string) => void }

/** j and k (or the arrows in a list that has the focus) move a mark, Enter opens, x selects. Not while something is typed or a dialog is open. */
export function useRowKeys(keys: string[], actions: Actions) {
  const [active, setActive] = useState<string | null>(null)
  const bodyRef = useRef<HTMLTableSectionElement>(null)
  const latest = useRef({ keys, actions, active })
  useEffect(() => {
    latest.current = { keys, actions, active }
  })
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isBusy(event.target)) return
      const { keys, actions, active } = latest.current
      const index = active === null ? -1 : keys.indexOf(active)
      const moveTo = (next: number) => {
        const key = keys[Math.max(0, Math.min(keys.length - 1, next))]
        if (key === undefined) return
        setActive(key)
        const row = bodyRef.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)
        // Tab goes on from the row, and a screen reader says it.
        row?.focus({ preventScroll: true })
        row?.scrollIntoView({ block: 'nearest' })
      }
      if (event.key === 'j') moveTo(index + 1)
      else if (event.key === 'k') moveTo(index - 1)
      else if (index < 0) return
      else if (event.key === 'x') actions.select(active!)
      else if (event.key === 'Enter' && !isControl(event.target)) actions.open(active!)
      else return
      event.preventDefault()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  return { active, bodyRef }
}

const isBusy = (target: EventTarget | null) =>
  (target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null) ||
  document.querySelector('[role="dialog"]') !== null

const isControl = (target: EventTarget | null) => target instanceof Element && target.closest('a, button') !== null
