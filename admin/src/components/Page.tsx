import { Group, Paper, Stack, Text, Title } from '@mantine/core'
import { IconArrowLeft } from '@tabler/icons-react'
import type { LinkProps } from '@tanstack/react-router'
import { type CSSProperties, type ReactNode, useEffect } from 'react'
import { searchOfList } from '../lib/list-place.ts'
import classes from './Page.module.css'
import { TextLink } from './values.tsx'

type PageProps = {
  title: string
  /** One line under the title. */
  subtitle?: ReactNode
  /** Buttons on the right; under the title on a phone. */
  actions?: ReactNode
  back?: { to: NonNullable<LinkProps['to']>; label: string }
  children: ReactNode
}

/** A view: title, actions, content. The title is also that of the browser's tab; a very long one ends with dots. */
export function Page({ title, subtitle, actions, back, children }: PageProps) {
  useTitle(title)
  return (
    <Stack gap="md">
      <Group justify="space-between" align="flex-start" gap="sm">
        <div>
          {back && (
            <TextLink to={back.to} search={(searchOfList(back.to) ?? {}) as never} size="sm" className="back-link">
              <IconArrowLeft size={16} aria-hidden />
              {back.label}
            </TextLink>
          )}
          <Title order={1} size="h3" lineClamp={6} title={title}>
            {title}
          </Title>
          {subtitle && (
            <Text size="sm" className="quiet" component="div">
              {subtitle}
            </Text>
          )}
        </div>
        {actions && (
          <Group gap="xs" maw="100%">
            {actions}
          </Group>
        )}
      </Group>
      {children}
    </Stack>
  )
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Email Gateway`
  }, [title])
}

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
