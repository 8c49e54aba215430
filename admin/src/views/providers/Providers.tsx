import { Alert, Group, Paper, Progress, SimpleGrid, Skeleton, Stack, Table, Text, Title, Tooltip } from '@mantine/core'
import { IconCircleCheck, IconGauge, IconPlugConnectedX } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { api, read, type Schemas } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { ConfirmDialog, DialogButton } from '../../components/dialogs.tsx'
import { Page } from '../../components/Page.tsx'
import { EmptyState, QueryState } from '../../components/states.tsx'
import { useChange } from '../../components/use-change.ts'
import { BreakableText, TimeText, Tone } from '../../components/values.tsx'
import { useFormat } from '../../lib/format.ts'
import classes from './ProviderCard.module.css'

export const Route = createLazyRoute('/signed-in/providers')({ component: Providers })

function Providers() {
  const { t } = useTranslation('providers')
  const query = useQuery({ ...read('/admin/providers'), refetchInterval: 3_000 })
  return (
    <Page title={t('title')} subtitle={t('subtitle')}>
      <QueryState query={query} skeleton={<Skeleton height={220} />}>
        {({ data, hours }) =>
          data.length === 0 ? (
            <EmptyState title={t('empty')} hint={t('emptyHint')} />
          ) : (
            <Stack gap="md">
              {data.map(provider => (
                <ProviderCard key={provider.name} provider={provider} hours={hours} />
              ))}
            </Stack>
          )
        }
      </QueryState>
    </Page>
  )
}

type Provider = Schemas['ProviderState']

const STATE_LOOKS = {
  healthy: ['green', IconCircleCheck],
  slowed: ['amber', IconGauge],
  parked: ['red', IconPlugConnectedX],
} as const

function ProviderCard({ provider, hours }: { provider: Provider; hours: number }) {
  const { t } = useTranslation('providers')
  const format = useFormat()
  return (
    <Paper withBorder p="md" component="section" aria-label={provider.name}>
      <Group gap="sm" mb="sm">
        <Title order={2} size="h4" className="mono">
          {provider.name}
        </Title>
        {(provider.configured || provider.state === 'parked') && (
          <Tone look={STATE_LOOKS[provider.state]}>{t(`states.${provider.state}`)}</Tone>
        )}
        {!provider.configured && <span className="quiet">{t('notConfigured')}</span>}
      </Group>
      {provider.state === 'parked' && <Parked provider={provider} />}
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="md" mb="md">
        <Rate provider={provider} />
        <Fact label={t('inFlight')}>{format.number(provider.inFlight)}</Fact>
        <Fact label={t('lastSent')}>{provider.lastSentAt ? <TimeText at={provider.lastSentAt} /> : t('never')}</Fact>
      </SimpleGrid>
      <Errors errors={provider.errors} hours={hours} />
    </Paper>
  )
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div>
      <Text size="sm" className="quiet">
        {label}
      </Text>
      <Text component="div" className="numbers">
        {children}
      </Text>
    </div>
  )
}

function Rate({ provider }: { provider: Provider }) {
  const { t } = useTranslation('providers')
  const format = useFormat()
  const { sentPerSecond, allowedPerSecond: allowed, quotaPerSecond: quota } = provider
  const rate = format.decimal(sentPerSecond)
  return (
    <Fact label={t('rate')}>
      <Tooltip label={t('rateHint')}>
        <span>
          {allowed === null ? t('rateUnlimited', { rate }) : t('rateOf', { rate, allowed: format.decimal(allowed) })}
        </span>
      </Tooltip>
      {allowed !== null && (
        <Progress
          value={Math.min(100, (sentPerSecond / allowed) * 100)}
          mt={4}
          aria-label={t('rate')}
          color={provider.state === 'slowed' ? 'yellow' : 'blue'}
        />
      )}
      {provider.state === 'slowed' && quota !== null && (
        <Text size="sm" className="quiet" mt={4}>
          {t('quota', { quota: format.decimal(quota) })}
        </Text>
      )}
    </Fact>
  )
}

function Parked({ provider }: { provider: Provider }) {
  const { t } = useTranslation('providers')
  const mayTry = useMay('support')
  const change = useChange('/admin/providers')
  const { name, nextProbeAt } = provider
  const isDue = nextProbeAt === null || Date.parse(nextProbeAt) <= Date.now()
  return (
    <Alert color="red" variant="light" mb="md">
      <Fact label={t('reason')}>
        <span className="mono">
          <BreakableText text={provider.reasonCode ?? ''} />
        </span>
        <Text size="sm">{provider.reason}</Text>
      </Fact>
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm" mt="sm">
        <Fact label={t('parkedSince')}>
          <TimeText at={provider.parkedAt} />
          {provider.failedProbes > 0 && <Text size="sm">{t('failedProbes', { count: provider.failedProbes })}</Text>}
        </Fact>
        <Fact label={t('nextProbe')}>{isDue ? t('probeDue') : <TimeText at={nextProbeAt} />}</Fact>
      </SimpleGrid>
      <Group justify="space-between" mt="sm" gap="xs">
        <Text size="sm">{t('parkedHint')}</Text>
        {mayTry && (
          <DialogButton
            size="compact-md"
            variant="default"
            dialog={state => (
              <ConfirmDialog
                {...state}
                title={t('tryTitle', { name })}
                verb={t('tryNow')}
                consequence={t('tryConsequence', { name })}
                onConfirm={() =>
                  change(
                    api.POST('/admin/providers/{name}/probe', { params: { path: { name } } }),
                    t('tried', { name }),
                  )
                }
              />
            )}
          >
            {t('tryNow')}
          </DialogButton>
        )}
      </Group>
    </Alert>
  )
}

function Errors({ errors, hours }: { errors: Provider['errors']; hours: number }) {
  const { t } = useTranslation('providers')
  const format = useFormat()
  return (
    <div>
      <Title order={3} size="h6" mb={4}>
        {t('errors', { hours })}
      </Title>
      {errors.length === 0 ? (
        <Text size="sm" className="quiet">
          {t('noErrors')}
        </Text>
      ) : (
        <Table verticalSpacing={4} aria-label={t('errors', { hours })} className={classes.errors!}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('code')}</Table.Th>
              <Table.Th ta="right">{t('count')}</Table.Th>
              <Table.Th ta="right">{t('last')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {errors.map(error => (
              <Table.Tr key={error.code}>
                <Table.Td className="mono">
                  <BreakableText text={error.code} />
                </Table.Td>
                <Table.Td ta="right" className="numbers">
                  {format.number(error.count)}
                </Table.Td>
                <Table.Td ta="right">
                  <TimeText at={error.lastAt} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </div>
  )
}
