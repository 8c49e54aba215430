import { Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { CodeBlock } from './CodeBlock.tsx'
import classes from './EmptyState.module.css'

type EmptyStateProps = {
  title: string
  /** How it gets here. */
  hint?: ReactNode
  /** The command that brings the first one. */
  command?: string
  children?: ReactNode
}

/** What belongs here, and how it gets here. */
export function EmptyState({ title, hint, command, children }: EmptyStateProps) {
  return (
    <Stack className={classes.box} gap="xs">
      <Title order={2} size="h5">
        {title}
      </Title>
      {hint && <Text className="quiet">{hint}</Text>}
      {command && <CodeBlock code={command} />}
      {children}
    </Stack>
  )
}
