import { Alert, Button, List, TextInput } from '@mantine/core'
import { IconBan, IconCalendarTime, IconRefresh, IconRotateClockwise, IconTerminal2 } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, type Schemas } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { ConfirmDialog, DialogButton, type DialogState, ReasonField } from '../../components/dialogs.tsx'
import { notify } from '../../components/notify.ts'
import { useChange } from '../../components/use-change.ts'
import { BreakableText } from '../../components/values.tsx'
import { useFormat } from '../../lib/format.ts'
import { useNow } from '../../lib/now.ts'
import { usePreferences, type Zone } from '../../lib/preferences.ts'
import { ChangeDialog } from '../dead-letters/ChangeDialog.tsx'
import { OUTCOME_UNKNOWN } from '../dead-letters/queries.ts'
import { contentQuery, type Email, emailQuery } from './queries.ts'
import { SuppressionText } from './SuppressionNotice.tsx'

/** What can be done with an e-mail in its state; nothing for viewers. */
export function EmailActions({ email }: { email: Email }) {
  const { t } = useTranslation('emails')
  if (!useMay('support')) return null
  const { may } = email
  return (
    <>
      {may.resend && (
        <DialogButton
          leftSection={<IconRefresh size={16} />}
          dialog={state => <ResendDialog email={email} {...state} />}
        >
          {t('actions.resend')}
        </DialogButton>
      )}
      {may.replay && <ReplayButton email={email} />}
      {may.reschedule && (
        <DialogButton
          variant="default"
          leftSection={<IconCalendarTime size={16} />}
          dialog={state => <RescheduleDialog email={email} {...state} />}
        >
          {t('actions.reschedule')}
        </DialogButton>
      )}
      {may.cancel && (
        <DialogButton
          variant="default"
          leftSection={<IconBan size={16} />}
          dialog={state => <CancelDialog email={email} {...state} />}
        >
          {t('actions.cancel')}
        </DialogButton>
      )}
      {!email.contentGone && <CopyCurl email={email} />}
    </>
  )
}

type DialogProps = DialogState & { email: Email }

/** Its content does not change, and is not read again. */
const useEmailChange = ({ outboxId }: Email) => useChange(emailQuery(outboxId).queryKey)

function ResendDialog({ email, ...dialog }: DialogProps) {
  const { t } = useTranslation('emails')
  const change = useEmailChange(email)
  const navigate = useNavigate()
  const [reason, setReason] = useState('')
  const resend = async () => {
    const body = { reason: reason.trim() || undefined }
    const params = { path: { outboxId: email.outboxId } }
    // The new one is opened: the toast needs no link to it.
    const { outboxId } = await change(
      api.POST('/admin/emails/{outboxId}/resend', { params, body }),
      t('actions.resent'),
    )
    setReason('')
    void navigate({ to: '/emails/$outboxId', params: { outboxId } })
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
      <ReasonField label={t('actions.optionalReason')} value={reason} onChange={setReason} />
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
  const change = useEmailChange(email)
  const cancel = (reason: string) => {
    const params = { path: { outboxId: email.outboxId } }
    return change(api.POST('/admin/emails/{outboxId}/cancel', { params, body: { reason } }), t('actions.cancelled'))
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
  const change = useEmailChange(email)
  const now = useNow()
  const [time, setTime] = useState(() => toInput(laterThan(Date.now(), email.scheduledAt), zone))
  const problem = timeProblem(time === '' ? null : Date.parse(fromInput(time, zone)), now)
  const [reason, setReason] = useState('')
  const reschedule = () => {
    const body = { scheduledAt: fromInput(time, zone), reason: reason.trim() || undefined }
    const params = { path: { outboxId: email.outboxId } }
    return change(
      api.POST('/admin/emails/{outboxId}/reschedule', { params, body }),
      t('actions.rescheduled', { time: format.dateTime(body.scheduledAt) }),
    )
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
      <ReasonField label={t('actions.optionalReason')} value={reason} onChange={setReason} />
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

/** The same e-mail goes back to the queue, as from the list of dead letters. */
function ReplayButton({ email: { outboxId, lastError } }: { email: Email }) {
  const { t } = useTranslation('deadLetters')
  const mayArriveTwice = lastError?.code === OUTCOME_UNKNOWN
  return (
    <DialogButton
      variant="default"
      leftSection={<IconRotateClockwise size={16} />}
      dialog={({ opened, onClose }) => (
        <ChangeDialog
          change={opened ? { verb: 'replay', outboxIds: [outboxId], mayArriveTwice } : null}
          onClose={onClose}
        />
      )}
    >
      {t('replay')}
    </DialogButton>
  )
}

/** The request that would send this e-mail again, without its attachments. */
function curlOf(email: Email, content: Schemas['AdminEmailContent'], origin: string): string {
  const recipients = (kind: 'to' | 'cc' | 'bcc') =>
    email.recipients.filter(recipient => recipient.kind === kind).flatMap(({ address }) => address ?? [])
  const body = {
    to: recipients('to')[0],
    ...withoutEmpty({ cc: recipients('cc'), bcc: recipients('bcc'), replyTo: content.replyTo, tags: email.tags }),
    ...withoutNulls({
      from: email.from,
      subject: email.subject,
      html: content.html,
      text: content.text,
      externalId: email.externalId,
    }),
    ...(Object.keys(content.headers).length > 0 && { headers: content.headers }),
  }
  return [
    `curl -X POST ${origin}/v1/email/send`,
    `  -H "X-API-Key: $API_KEY"`,
    `  -H 'Content-Type: application/json'`,
    `  -d ${quoted(JSON.stringify(body))}`,
  ].join(' \\\n')
}

const withoutEmpty = (lists: Record<string, string[]>) =>
  Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0))
const withoutNulls = (fields: Record<string, string | null>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

/** For a POSIX shell: nothing is special between single quotes but the quote itself. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** The value of a datetime-local field: minutes, in the zone that times are shown in. */
function toInput(at: string, zone: Zone): string {
  const date = new Date(at)
  const shiftMs = zone === 'utc' ? 0 : date.getTimezoneOffset() * 60_000
  return new Date(date.getTime() - shiftMs).toISOString().slice(0, 16)
}

const fromInput = (value: string, zone: Zone): string => new Date(zone === 'utc' ? `${value}Z` : value).toISOString()
