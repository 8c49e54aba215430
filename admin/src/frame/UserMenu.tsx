import { Menu, Text, UnstyledButton } from '@mantine/core'
import { IconBook, IconClock, IconDevices, IconLogout, IconSelector } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { api, take } from '../api/client.ts'
import { useSession } from '../api/session.ts'
import { preferences, usePreferences } from '../lib/preferences.ts'
import classes from './UserMenu.module.css'

export function UserMenu() {
  const { t } = useTranslation()
  const { name, role } = useSession()
  const { zone } = usePreferences()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const leaving = useMutation({
    mutationFn: () => take(api.DELETE('/admin/session')),
    onSuccess: async () => {
      await navigate({ to: '/sign-in' })
      queryClient.clear()
    },
  })
  return (
    <Menu position="top-start" width={220} shadow="md">
      <Menu.Target>
        <UnstyledButton className={classes.button}>
          <span className={classes.names}>
            <Text size="sm" fw={600} truncate title={name}>
              {name}
            </Text>
            <Text size="xs" className="quiet">
              {t(`user.roles.${role}`)}
            </Text>
          </span>
          <IconSelector size={16} aria-hidden />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={<IconClock size={16} />}
          onClick={() => preferences.set({ zone: zone === 'utc' ? 'local' : 'utc' })}
        >
          {t(zone === 'utc' ? 'user.toLocal' : 'user.toUtc')}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item component="a" href="/docs" target="_blank" leftSection={<IconBook size={16} />}>
          {t('user.apiDocs')}
        </Menu.Item>
        <Menu.Item leftSection={<IconDevices size={16} />} onClick={() => void navigate({ to: '/sessions' })}>
          {t('user.sessions')}
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => leaving.mutate()}>
          {t('user.signOut')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
