import { Alert, Button, List, Textarea, TextInput } from '@mantine/core'
import { IconBan, IconCalendarTime, IconRefresh, IconTerminal2 } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, take } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { BreakableText } from '../../components/BreakableText.tsx'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { notify } from '../../components/notify.ts'
import { useFormat } from '../../lib/format.ts'
import { useNow } from '../../lib/now.ts'
import { usePreferences } from '../../lib/preferences.ts'
import { curlOf } from './curl.ts'
import { contentQuery, type Email, emailQuery } from './queries.ts'
import { ReplayButton } from './ReplayButton.tsx'
import { SuppressionText } from './SuppressionNotice.tsx'
import { fromInput, toInput } from './time-input.ts'

type Dialog = 'resend' | 'cancel' | 'reschedule' | null

/** What can be done with an e-mail in its state; nothing for viewers. */
export function EmailActions({ email }: { email: Email }) {
  const { t } = useTranslation('emails')
  const [opened, setOpened] = useState<Dialog>(null)
  const close = () => setOpened(null)
  if (!useMay('support')) return null
  const { may } = email
  return (
    <>
      {may.resend && (
        <Button size="sm" leftSection={<IconRefresh size={16} />} onClick={() => setOpened('resend')}>
          {t('actions.resend')}
        </Button>
      )}
      {may.replay && <ReplayButton email={email} />}
      {may.reschedule && (
        <Button
          size="sm"
          variant="default"
          leftSection={<IconCalendarTime size={16} />}
          onClick={() => setOpened('reschedule')}
        >
          {t('actions.reschedule')}
        </Button>
      )}
      {may.cancel && (
        <Button size="sm" variant="default" leftSection={<IconBan size={16} />} onClick={() => setOpened('cancel')}>
          {t('actions.cancel')}
        </Button>
      )}
      {!email.contentGone && <CopyCurl email={email} />}
      <ResendDialog email={email} opened={opened === 'resend'} onClose={close} />
      <CancelDialog email={email} opened={opened === 'cancel'} onClose={close} />
      <RescheduleDialog email={email} opened={opened === 'reschedule'} onClose={close} />
    </>
  )
}

type DialogProps = { email: Email; opened: boolean; onClose: () => void }

function useRefresh({ outboxId }: Email) {
  const client = useQueryClient()
  return () => client.invalidateQueries({ queryKey: emailQuery(outboxId).queryKey, exact: true })
}

function ResendDialog({ email, ...dialog }: DialogProps) {
  const { t } = useTranslation('emails')
  const refresh = useRefresh(email)
  const navigate = useNavigate()
  const [reason, setReason] = useState('')
  const resend = async () => {
    const body = reason.trim() ? { reason: reason.trim() } : {}
    const params = { path: { outboxId: email.outboxId } }
    try {
      const { outboxId } = await take(api.POST('/admin/emails/{outboxId}/resend', { params, body }))
      // The new one is opened: the toast needs no link to it.
      notify.done(t('actions.resent'))
      setReason('')
      void navigate({ to: '/emails/$outboxId', params: { outboxId } })
    } finally {
      // Also after a refusal: somebody may have been suppressed since the page was read.
      await refresh()
    }
  }
  return (
    <ConfirmDialog
      {...dialog}
      title={t('actions.resendTitle')}
      verb={t('actions.resend')}
      consequence={t('actions.resendConsequence')}
      blocked={isRefused(email)}
      onConfirm={resend}
    >
      <SuppressedNow email={email} />
      <OptionalReason value={reason} onChange={setReason} />
    </ConfirmDialog>
  )
}

/** Nobody is left to send it to. */
const isRefused = ({ recipients }: Email) => recipients.every(({ kind, suppression }) => kind !== 'to' || suppression)

/** Said before the gateway says it: who gets no copy, or that all of it is refused, and the way to the entries. */
function SuppressedNow({ email }: { email: Email }) {
  const { t } = useTranslation('emails')
  const suppressed = email.recipients.flatMap(({ address, suppression }) =>
    suppression ? [{ address, suppression }] : [],
  )
  if (suppressed.length === 0) return null
  return (
    <Alert
      variant="light"
      color="red"
      icon={<IconBan size={18} />}
      title={t(isRefused(email) ? 'actions.resendRefused' : 'actions.resendWithout')}
      role="note"
    >
      <List size="sm">
        {suppressed.map(({ address, suppression }) => (
          <List.Item key={address}>
            {address && <BreakableText text={address} />}: <SuppressionText entry={suppression} />
          </List.Item>
        ))}
      </List>
    </Alert>
  )
}

function CancelDialog({ email, ...dialog }: DialogProps) {
  const { t } = useTranslation('emails')
  const refresh = useRefresh(email)
  const cancel = async (reason: string) => {
    const params = { path: { outboxId: email.outboxId } }
    await take(api.POST('/admin/emails/{outboxId}/cancel', { params, body: { reason } }))
    notify.done(t('actions.cancelled'))
    await refresh()
  }
  return (
    <ConfirmDialog
      {...dialog}
      title={t('actions.cancelTitle')}
      verb={t('actions.cancelVerb')}
      dismiss={t('actions.keep')}
      consequence={t('actions.cancelConsequence')}
      danger
      askReason
      onConfirm={cancel}
    />
  )
}

function RescheduleDialog({ email, ...dialog }: DialogProps) {
  const { t } = useTranslation('emails')
  const format = useFormat()
  const { zone } = usePreferences()
  const refresh = useRefresh(email)
  const now = useNow()
  const [time, setTime] = useState(() => toInput(laterThan(Date.now(), email.scheduledAt), zone))
  const problem = timeProblem(time === '' ? null : Date.parse(fromInput(time, zone)), now)
  const [reason, setReason] = useState('')
  const reschedule = async () => {
    const scheduledAt = fromInput(time, zone)
    const params = { path: { outboxId: email.outboxId } }
    const body = { scheduledAt, ...(reason.trim() && { reason: reason.trim() }) }
    await take(api.POST('/admin/emails/{outboxId}/reschedule', { params, body }))
    notify.done(t('actions.rescheduled', { time: format.dateTime(scheduledAt) }))
    await refresh()
  }
  return (
    <ConfirmDialog
      {...dialog}
      title={t('actions.rescheduleTitle')}
      verb={t('actions.reschedule')}
      consequence={t('actions.rescheduleConsequence')}
      blocked={problem !== null}
      onConfirm={reschedule}
    >
      <TextInput
        type="datetime-local"
        label={t('actions.newTime', {
          zone: zone === 'utc' ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone,
        })}
        value={time}
        onChange={event => setTime(event.currentTarget.value)}
        min={toInput(new Date(now + MINUTE_MS).toISOString(), zone)}
        max={toInput(new Date(now + MAX_AHEAD_MS).toISOString(), zone)}
        error={problem && problem !== 'none' && t(`actions.${problem}`)}
        required
        withAsterisk={false}
      />
      <OptionalReason value={reason} onChange={setReason} />
    </ConfirmDialog>
  )
}

const MINUTE_MS = 60_000
/** The gateway refuses more. */
const MAX_AHEAD_MS = 30 * 24 * 60 * MINUTE_MS

/** The time that it has, or in an hour when that has passed. */
const laterThan = (nowMs: number, scheduledAt: string | null) =>
  scheduledAt !== null && Date.parse(scheduledAt) > nowMs ? scheduledAt : new Date(nowMs + 60 * MINUTE_MS).toISOString()

/** A time that has passed would send it at once, which nobody expects of a date. */
function timeProblem(atMs: number | null, nowMs: number): 'none' | 'timePassed' | 'timeTooFar' | null {
  if (atMs === null) return 'none'
  if (atMs <= nowMs) return 'timePassed'
  return atMs > nowMs + MAX_AHEAD_MS ? 'timeTooFar' : null
}

function OptionalReason({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const { t } = useTranslation('emails')
  const { t: common } = useTranslation()
  return (
    <Textarea
      label={t('actions.optionalReason')}
      description={common('dialog.reasonHint')}
      value={value}
      onChange={event => onChange(event.currentTarget.value)}
      autosize
      minRows={2}
      maxRows={8}
      maxLength={500}
    />
  )
}

function CopyCurl({ email }: { email: Email }) {
  const { t } = useTranslation('emails')
  const client = useQueryClient()
  const copy = async () => {
    const content = await client.ensureQueryData(contentQuery(email.outboxId))
    await navigator.clipboard.writeText(curlOf(email, content, window.location.origin))
    notify.done(t('actions.curlCopied'))
  }
  return (
    <Button size="sm" variant="default" leftSection={<IconTerminal2 size={16} />} onClick={() => void copy()}>
      {t('actions.curl')}
    </Button>
  )
}
