import { AppShell, Burger, Group, ScrollArea } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Notifications } from '@mantine/notifications'
import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { ConnectionBar } from '../components/states.tsx'
import { useEscape } from '../lib/keyboard.ts'
import classes from './Frame.module.css'
import { LiveMark } from './LiveMark.tsx'
import { Logo } from './Logo.tsx'
import { Navigation } from './Navigation.tsx'
import { Palette } from './Palette.tsx'
import { LanguageSwitch, ThemeSwitch } from './Switches.tsx'
import { UserMenu } from './UserMenu.tsx'

export function Frame() {
  const { t } = useTranslation()
  const [opened, { toggle, close }] = useDisclosure()
  const pathname = useRouterState({ select: state => state.location.pathname })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the drawer of a phone closes when another view opens
  useEffect(close, [pathname])
  useEscape(opened, close)
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 244, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding="md"
      classNames={{ header: classes.header, navbar: classes.navbar }}
    >
      <a className="skip-link" href="#content">
        {t('nav.skip')}
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" gap="sm" wrap="nowrap">
          <Burger
            opened={opened}
            onClick={toggle}
            hiddenFrom="sm"
            size="sm"
            aria-label={t(opened ? 'nav.close' : 'nav.open')}
            aria-expanded={opened}
          />
          <Link to="/" className={classes.brand}>
            <Logo />
            <span className={classes.brandName}>{t('product')}</span>
          </Link>
          <div className={classes.space} />
          <Palette />
          <LiveMark />
          <ThemeSwitch />
          <LanguageSwitch />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar aria-label={t('nav.label')}>
        <AppShell.Section grow component={ScrollArea} px={6} py="xs">
          <Navigation />
        </AppShell.Section>
        <AppShell.Section p="xs" className={classes.user}>
          <UserMenu />
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1} className={classes.main}>
        {/* Inside of the router, so that a toast can hold a link. */}
        <Notifications position="bottom-right" />
        <ConnectionBar />
        <Outlet />
      </AppShell.Main>
    </AppShell>
  )
}
