import { Paper } from '@mantine/core'
import type { CSSProperties, ReactNode } from 'react'
import classes from './Tile.module.css'

/** One figure: what it is, how much, and of what. Put several into `Tiles`. */
export function Tile({ label, value, hint }: { label: string; value: ReactNode; hint?: ReactNode }) {
  return (
    <Paper withBorder className={classes.tile}>
      <dt className="quiet">{label}</dt>
      <dd className={classes.value} style={lengthOf(value)}>
        {value}
      </dd>
      {hint && <dd className={`${classes.hint} quiet`}>{hint}</dd>}
    </Paper>
  )
}

/** A long figure is written smaller, so that it stays on one line in a narrow tile. */
const lengthOf = (value: ReactNode) =>
  typeof value === 'string' ? ({ '--length': value.length } as CSSProperties) : undefined

export const Tiles = ({ children }: { children: ReactNode }) => <dl className={classes.tiles}>{children}</dl>
