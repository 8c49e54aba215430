import { Button, Text } from '@mantine/core'
import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react'
import type { LinkProps } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { TextLink } from '../../components/links.tsx'
import { useReasonText } from '../../components/reason-text.ts'
import { useFormat } from '../../lib/format.ts'
import type { Attention, AttentionKind } from './data.ts'
import classes from './Overview.module.css'

const TEXTS = {
  'ledger-imbalance': 'ledgerImbalance',
  'dead-letters': 'deadLetters',
  'provider-parked': 'providerParked',
  'no-worker': 'noWorker',
  'waiting-long': 'waitingLong',
  'unknown-sends': 'unknownSends',
  'company-paused': 'companyPaused',
  'company-warned': 'companyWarned',
  'webhooks-disabled': 'webhooksDisabled',
} as const satisfies Record<AttentionKind, string>

/** The figures below stay in sight. */
const FIRST = 5

/** Counted over the queue, whatever company is chosen. */
const OF_ALL: AttentionKind[] = ['no-worker', 'waiting-long', 'unknown-sends']

/** What somebody should look at, each with a link to where it is handled. `ofAll`: the rest of the page is about one company. */
export function AttentionList({ attention, ofAll }: { attention: Attention[]; ofAll: boolean }) {
  const { t } = useTranslation('overview')
  const [all, setAll] = useState(false)
  if (attention.length === 0)
    return (
      <div className={classes.fine}>
        <IconCircleCheck size={18} aria-hidden /> {t('attention.none')}
      </div>
    )
  return (
    <section className={classes.attention} aria-label={t('attention.title')}>
      <strong>{t('attention.title')}</strong>
      <ul className={classes.list}>
        {attention.slice(0, all ? attention.length : FIRST).map(one => (
          <Entry key={`${one.kind} ${one.code} ${one.companyId}`} attention={one} ofAll={ofAll} />
        ))}
      </ul>
      {!all && attention.length > FIRST && (
        <Button variant="subtle" size="compact-sm" onClick={() => setAll(true)}>
          {t('attention.all', { count: attention.length })}
        </Button>
      )}
    </section>
  )
}

function Entry({ attention, ofAll }: { attention: Attention; ofAll: boolean }) {
  const { t } = useTranslation('overview')
  const { dateTime, utcDay } = useFormat()
  const reasonText = useCodeText()
  const { kind, count, since, code, companyName } = attention
  const what = t(`attention.${TEXTS[kind]}`, { count, code: code ?? '', company: companyName ?? '' })
  const details = [
    ofAll && OF_ALL.includes(kind) && t('attention.ofAll'),
    kind === 'dead-letters' && companyName,
    since && t('attention.since', { time: kind === 'ledger-imbalance' ? utcDay(since) : dateTime(since) }),
    kind !== 'provider-parked' && code && reasonText(code),
  ].filter(Boolean)
  return (
    <li className={classes.entry}>
      <IconAlertTriangle size={16} aria-hidden className={classes.sign} />
      {/* A name or a reason may be long: both are whole where the link leads. */}
      <Text inherit className={classes.what} lineClamp={3} title={[what, ...details].join(' · ')}>
        {what}
        {details.length > 0 && <span className="quiet"> · {details.join(' · ')}</span>}
      </Text>
      <TextLink {...linkOf(attention)} size="sm">
        {t('attention.review')}
      </TextLink>
    </li>
  )
}

/** Days of the ledger are those of UTC. */
const dayOf = (at: string | null) => (at ?? new Date().toISOString()).slice(0, 10)

function linkOf({ kind, code, companyId, since }: Attention): LinkProps {
  switch (kind) {
    case 'ledger-imbalance':
      return { to: '/', search: { ledger: dayOf(since) } }
    case 'dead-letters':
      return { to: '/dead-letters', search: { ...(code && { code }), ...(companyId && { company: companyId }) } }
    case 'provider-parked':
      return { to: '/providers' }
    case 'no-worker':
    case 'waiting-long':
      return { to: '/emails', search: { status: 'PENDING' } }
    case 'unknown-sends':
      return { to: '/emails', search: { status: 'UNKNOWN' } }
    case 'company-paused':
    case 'company-warned':
      return { to: '/companies/$companyId', params: { companyId: companyId! } }
    case 'webhooks-disabled':
      return { to: '/companies/$companyId/$tab', params: { companyId: companyId!, tab: 'webhooks' } }
  }
}

/** Why an endpoint was disabled, in words; other reasons as everywhere. */
function useCodeText(): (code: string) => string {
  const { t } = useTranslation('webhooks')
  const reasonText = useReasonText()
  const disabled = t('disabledReasons', { returnObjects: true }) as Record<string, string>
  return code => disabled[code] ?? reasonText(code)
}
