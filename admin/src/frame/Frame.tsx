import { AppShell, Burger, Group, ScrollArea, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Notifications } from '@mantine/notifications'
import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { useConnection } from '../api/connection.ts'
import { ConnectionBar } from '../components/states.tsx'
import { useFormat } from '../lib/format.ts'
import { useEscape } from '../lib/keyboard.ts'
import { useLive, useLivePolling } from '../lib/live.ts'
import classes from './Frame.module.css'
import { Logo } from './Logo.tsx'
import { useNavigation } from './navigation.ts'
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

/** Whether counts and lists update by themselves. */
function LiveMark() {
  const { t } = useTranslation()
  const isUp = useConnection().state === 'up'
  const isLive = useLivePolling().isSuccess && isUp
  return (
    <Tooltip label={t(isLive ? 'header.liveHint' : 'header.notLiveHint')}>
      <span className={classes.mark} data-live={isLive} role="status">
        <span className={classes.dot} aria-hidden />
        <span className={classes.word}>{t(isLive ? 'header.live' : 'header.notLive')}</span>
      </span>
    </Tooltip>
  )
}

/** The menu; dead letters show how many there are, live. */
function Navigation() {
  const { t } = useTranslation()
  const { compact } = useFormat()
  const deadLetters = useLive()?.queue.deadLetters ?? 0
  return useNavigation().map(({ to, text, icon: Icon }) => (
    <Link key={to} to={to} className={classes.entry} activeOptions={{ exact: to === '/', includeSearch: false }}>
      <Icon size={18} stroke={1.6} aria-hidden />
      <span>{t(`nav.${text}`)}</span>
      {text === 'deadLetters' && deadLetters > 0 && <span className={classes.count}>{compact(deadLetters)}</span>}
    </Link>
  ))
}
