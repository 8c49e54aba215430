import { ActionIcon, Button, Tooltip, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { IconMoon, IconSun } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { preferences, usePreferences } from '../lib/preferences.ts'

export function ThemeSwitch() {
  const { t } = useTranslation()
  const { setColorScheme } = useMantineColorScheme()
  const isDark = useComputedColorScheme('light') === 'dark'
  const label = t(isDark ? 'header.toLight' : 'header.toDark')
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={label}
        onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
      >
        {isDark ? <IconSun size={18} /> : <IconMoon size={18} />}
      </ActionIcon>
    </Tooltip>
  )
}

export function LanguageSwitch() {
  const { t } = useTranslation()
  const other = usePreferences().language === 'en' ? 'pt' : 'en'
  return (
    <Tooltip label={t('header.language')}>
      <Button
        variant="subtle"
        color="gray"
        size="compact-sm"
        lang={other === 'pt' ? 'pt-BR' : 'en'}
        aria-label={`${t('header.languageShort')}: ${t('header.language')}`}
        onClick={() => preferences.set({ language: other })}
      >
        {t('header.languageShort')}
      </Button>
    </Tooltip>
  )
}
