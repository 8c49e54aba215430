import { Alert, Button, Group, Paper, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { createLazyRoute, useRouter } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { isProblem } from '../../api/problem.ts'
import { signIn } from '../../api/session.ts'
import { ConnectionBar } from '../../components/ConnectionBar.tsx'
import { useErrorText } from '../../components/error-text.ts'
import { useTitle } from '../../components/use-title.ts'
import { Logo } from '../../frame/Logo.tsx'
import { LanguageSwitch, ThemeSwitch } from '../../frame/Switches.tsx'
import classes from './SignIn.module.css'

export const Route = createLazyRoute('/sign-in')({ component: SignIn })

function SignIn() {
  const { t } = useTranslation('signIn')
  const { to = '/', ended } = Route.useSearch()
  const router = useRouter()
  const queryClient = useQueryClient()
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  useTitle(t('title'))
  const entering = useMutation({
    mutationFn: signIn,
    onSuccess: async () => {
      queryClient.clear()
      await router.navigate({ href: router.options.basepath + to, replace: true })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    entering.mutate({ name, password })
  }
  return (
    <main className={classes.page}>
      <Paper withBorder p="xl" radius="md" className={classes.card}>
        <Stack gap="md" component="form" onSubmit={submit}>
          <Group gap="sm">
            <Logo />
            <Title order={1} size="h3">
              Email Gateway
            </Title>
          </Group>
          <ConnectionBar />
          {ended && !entering.error && <Text size="sm">{t('again')}</Text>}
          {entering.error && <Refusal error={entering.error} />}
          <TextInput
            label={t('name')}
            value={name}
            onChange={event => setName(event.currentTarget.value)}
            autoComplete="username"
            required
            withAsterisk={false}
            autoFocus
            maxLength={100}
          />
          <PasswordInput
            label={t('password')}
            value={password}
            onChange={event => setPassword(event.currentTarget.value)}
            autoComplete="current-password"
            required
            withAsterisk={false}
            maxLength={500}
            visibilityToggleButtonProps={{ 'aria-label': t('show') }}
          />
          <Button type="submit" loading={entering.isPending} fullWidth>
            {t('submit')}
          </Button>
          <Group justify="space-between">
            <LanguageSwitch />
            <ThemeSwitch />
          </Group>
        </Stack>
      </Paper>
      <Text size="sm" className="quiet" ta="center" mt="md">
        {t('help')}
      </Text>
    </main>
  )
}

function Refusal({ error }: { error: Error }) {
  const { t } = useTranslation('signIn')
  const errorText = useErrorText()
  const text =
    isProblem(error) && error.status === 401
      ? t('wrong')
      : isProblem(error, 'TOO_MANY_LOGINS')
        ? t('tooMany')
        : errorText(error)
  return (
    <Alert color="red" role="alert" variant="light">
      {text}
    </Alert>
  )
}
