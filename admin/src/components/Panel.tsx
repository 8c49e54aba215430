import { Paper, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './Panel.module.css'

/** A box with a title, for a part of a view. */
export function Panel({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Paper withBorder p="md" className={classes.panel} component="section" aria-label={title}>
      <Title order={2} size="h5" mb="sm">
        {title}
      </Title>
      {children}
    </Paper>
  )
}
