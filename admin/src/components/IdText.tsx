import { Tooltip } from '@mantine/core'
import { CopyButton } from './CopyButton.tsx'
import classes from './IdText.module.css'

/** An id shortened to its first characters, with the whole one on hover and to copy. */
export function IdText({ id, whole = false }: { id: string; whole?: boolean }) {
  const short = whole ? id : shorten(id)
  return (
    <span className={classes.id} data-whole={whole}>
      <Tooltip label={id} disabled={short === id}>
        <span className="mono">{short}</span>
      </Tooltip>
      <CopyButton value={id} label={id} />
    </span>
  )
}

/** Eight characters; of a hash those after the name of its function. */
function shorten(id: string): string {
  const digits = id.replace(/^sha256:/, '')
  return digits.length <= 10 ? digits : `${digits.slice(0, 8)}…`
}
