import { Tooltip } from '@mantine/core'
import { shortId } from '../lib/short-id.ts'
import { CopyButton } from './CopyButton.tsx'
import classes from './IdText.module.css'

/** An id shortened to eight characters, with the whole one on hover and to copy. */
export function IdText({ id, whole = false }: { id: string; whole?: boolean }) {
  const short = whole ? id : shortId(id)
  return (
    <span className={classes.id} data-whole={whole}>
      <Tooltip label={id} disabled={short === id}>
        <span className="mono">{short}</span>
      </Tooltip>
      <CopyButton value={id} label={id} />
    </span>
  )
}
