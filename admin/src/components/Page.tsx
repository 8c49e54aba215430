import { Group, Stack, Text, Title } from '@mantine/core'
import { IconArrowLeft } from '@tabler/icons-react'
import type { LinkProps } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { searchOfList } from '../lib/list-place.ts'
import { TextLink } from './links.tsx'
import { useTitle } from './use-title.ts'

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
