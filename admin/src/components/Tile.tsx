import { Paper } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './Tile.module.css'

/** One figure: what it is, how much, and of what. Put several into `Tiles`. */
export function Tile({ label, value, hint }: { label: string; value: ReactNode; hint?: ReactNode }) {
  return (
    <Paper withBorder className={classes.tile}>
      <dt className="quiet">{label}</dt>
      <dd className={classes.value}>{value}</dd>
      {hint && <dd className={`${classes.hint} quiet`}>{hint}</dd>}
    </Paper>
  )
}

export const Tiles = ({ children }: { children: ReactNode }) => <dl className={classes.tiles}>{children}</dl>
