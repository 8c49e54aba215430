import { Tooltip } from '@mantine/core'
import { CopyButton } from './CopyButton.tsx'
import classes from './IdText.module.css'

/** An id shortened to its first eight characters, with the whole one on hover and to copy. */
export function IdText({ id, whole = false }: { id: string; whole?: boolean }) {
  return (
    <span className={classes.id}>
      <Tooltip label={id} disabled={whole || id.length <= 10}>
        <span className="mono">{whole || id.length <= 10 ? id : `${id.slice(0, 8)}…`}</span>
      </Tooltip>
      <CopyButton value={id} label={id} />
    </span>
  )
}
