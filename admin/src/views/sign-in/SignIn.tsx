import { Alert, Button, Group, Loader, Paper, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { createLazyRoute, useRouter } from '@tanstack/react-router'
import { type FormEvent, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, type Schemas, take } from '../../api/client.ts'
import { isProblem } from '../../api/problem.ts'
import { useErrorText } from '../../components/error-text.ts'
import { useTitle } from '../../components/Page.tsx'
import { ConnectionBar } from '../../components/states.tsx'
import { Logo } from '../../frame/Logo.tsx'
import { LanguageSwitch, ThemeSwitch } from '../../frame/Switches.tsx'
import classes from './SignIn.module.css'

export const Route = createLazyRoute('/sign-in')({ component: SignIn })

function SignIn() {
  const { t } = useTranslation('signIn')
  const { ended } = Route.useSearch()
  useTitle(t('title'))
  const onSignedIn = useGoOn()
  const byPassword = useMutation({
    mutationFn: (body: Schemas['SignInInput']) => take(api.POST('/admin/session', { body })),
    onSuccess: onSignedIn,
  })
  const byLink = useMutation({
    mutationFn: (token: string) => take(api.POST('/admin/session/link', { body: { token } })),
    onSuccess: onSignedIn,
  })
  const { mutate: enterByLink } = byLink
  useEffect(() => {
    const token = takeTokenFromUrl()
    if (token) enterByLink(token)
  }, [enterByLink])
  const error = byPassword.error ?? byLink.error
  return (
    <main className={classes.page}>
      <Paper withBorder p="xl" radius="md" className={classes.card}>
        <Stack gap="md">
          <Group gap="sm">
            <Logo />
            <Title order={1} size="h3">
              Email Gateway
            </Title>
          </Group>
          <ConnectionBar />
          {ended && !error && <Text size="sm">{t('again')}</Text>}
          {error && <Refusal key={byPassword.submittedAt} error={error} />}
          {byLink.isPending ? (
            <Group gap="sm" role="status">
              <Loader size="sm" />
              <Text size="sm">{t('byLink')}</Text>
            </Group>
          ) : (
            <PasswordForm busy={byPassword.isPending} onSubmit={byPassword.mutate} />
          )}
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

/** To the place that asked for the sign-in. */
function useGoOn() {
  const { to = '/' } = Route.useSearch()
  const router = useRouter()
  const queryClient = useQueryClient()
  return async () => {
    queryClient.clear()
    await router.navigate({ href: router.options.basepath + to, replace: true })
  }
}

type PasswordFormProps = { busy: boolean; onSubmit: (credentials: Schemas['SignInInput']) => void }

function PasswordForm({ busy, onSubmit }: PasswordFormProps) {
  const { t } = useTranslation('signIn')
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSubmit({ name, password })
  }
  return (
    <Stack gap="md" component="form" onSubmit={submit}>
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
        visibilityToggleButtonProps={{ 'aria-label': t('show') }}
        required
        withAsterisk={false}
        maxLength={500}
      />
      <Button type="submit" loading={busy} fullWidth>
        {t('submit')}
      </Button>
    </Stack>
  )
}

/** Why nobody was signed in. */
function Refusal({ error }: { error: Error }) {
  const { t } = useTranslation('signIn')
  const errorText = useErrorText()
  if (isProblem(error, 'TOO_MANY_LOGINS')) return <Throttled seconds={error.retryAfterSeconds ?? 1} />
  if (isProblem(error, 'SIGN_IN_LINK_INVALID')) return <Message text={t('linkInvalid')} />
  return <Message text={isProblem(error) && error.status === 401 ? t('wrong') : errorText(error)} />
}

function Message({ text }: { text: string }) {
  return (
    <Alert color="red" role="alert" variant="light">
      {text}
    </Alert>
  )
}

/** Counts down; only its beginning and its end are announced to screen readers. */
function Throttled({ seconds }: { seconds: number }) {
  const { t } = useTranslation('signIn')
  const [left, setLeft] = useState(seconds)
  useEffect(() => {
    const timer = setInterval(() => setLeft(now => Math.max(0, now - 1)), 1_000)
    return () => clearInterval(timer)
  }, [])
  if (left === 0)
    return (
      <Alert color="blue" role="status" variant="light">
        {t('mayTry')}
      </Alert>
    )
  return <Message text={t('tooMany', { count: left })} />
}

/** The token of a sign-in link, which follows the #. It is taken out of the address bar and the history. */
function takeTokenFromUrl(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token) history.replaceState(history.state, '', location.pathname + location.search)
  return token
}
