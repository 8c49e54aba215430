import { Tooltip } from '@mantine/core'
import { useFormat } from '../lib/format.ts'
import { useNow } from '../lib/now.ts'

/** A relative time with the exact one on hover; `exact` shows the exact one, for details. */
export function TimeText({ at, exact = false }: { at: string | Date | null | undefined; exact?: boolean }) {
  const format = useFormat()
  const now = useNow()
  if (!at) return <span className="quiet">–</span>
  const iso = typeof at === 'string' ? at : at.toISOString()
  if (exact) return <time dateTime={iso}>{format.exact(at)}</time>
  return (
    <Tooltip label={format.exact(at)}>
      <time dateTime={iso}>{format.relative(at, notBefore(iso, now))}</time>
    </Tooltip>
  )
}

/** The clock of the page ticks every few seconds: what happened since the last tick is now, not in the future. */
const notBefore = (iso: string, now: number) => Math.max(now, Math.min(Date.parse(iso), Date.now()))
