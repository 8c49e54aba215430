import { useTranslation } from 'react-i18next'
import { useFailureText } from '../../components/error-text.ts'
import { useReasonText } from '../../components/reason-text.ts'
import { useFormat } from '../../lib/format.ts'
import type { Email } from './queries.ts'

type Explanation = Email['explanation']
type State = Explanation['state']

/** Where an e-mail is and why, and what happens next, in the reader's language: made from the codes of the gateway. */
export function useExplanation(email: Email): { summary: string; next: string | null } {
  const { t } = useTranslation('emails')
  const format = useFormat()
  const reasonText = useReasonText()
  const failureText = useFailureText()
  const { state, retry, nextStep, nextAt } = email.explanation
  const exact = (at: string | null) => (at === null ? '–' : format.exact(at))
  const errorText = (code: string, message: string) => `${code}: ${failureText(code, message.replace(/[.\s]+$/, ''))}`
  const { attempts, maxAttempts, lastError } = email
  const provider = email.provider ?? t('explain.anyProvider')
  const error = lastError ? errorText(lastError.code, lastError.message) : '–'
  const values = { attempts, maxAttempts, count: attempts, error }
  return {
    summary: retry ? retryText(retry) : stateText(state),
    next: nextStep && t(`explain.next.${nextStep}`, { time: exact(nextAt) }),
  }

  function stateText(state: State): string {
    switch (state.code) {
      case 'scheduled':
        return t('explain.scheduled', { time: exact(state.at) })
      case 'paused':
        return state.reason ? t('explain.pausedBecause', { reason: reasonText(state.reason) }) : t('explain.paused')
      case 'parked': {
        const providers = state.providers.map(({ provider, since, code, reason }) =>
          t('explain.parkedProvider', { provider, time: exact(since), error: errorText(code, reason) }),
        )
        return t('explain.parked', { providers: providers.join('; ') })
      }
      case 'claim-lost':
      case 'attempt-lost':
        return t(`explain.${state.code}`, { ...values, ...state, lost: t(`explain.lost.${state.because}`) })
      case 'turn':
        return t('explain.turn', { position: positionText(state) })
      case 'unknown': {
        const reasons = t('explain.unknownReasons', { returnObjects: true }) as Record<string, string>
        const reason = reasons[state.reason] ?? reasons.other
        return t('explain.unknown', { provider: state.provider, reason, time: exact(state.since) })
      }
      case 'sent':
      case 'delivered':
      case 'complained': {
        const { code, othersBounced: some, sentAgain } = state
        const time = exact(code === 'sent' ? email.sentAt : email.deliveredAt)
        return [
          t(`explain.${code}`, { provider, time }),
          ...(some ? [t('explain.othersBounced', { count: some.bounced, of: some.of })] : []),
          ...(sentAgain ? [t('explain.twice')] : []),
        ].join(' ')
      }
      case 'bounced': {
        const diagnosis = diagnosisOf(email)
        return diagnosis === null ? t('explain.bounced') : t('explain.bouncedBecause', { diagnosis })
      }
      default:
        return t(`explain.${state.code}`, { ...values, ...state })
    }
  }

  function retryText({ attempt, of, because }: NonNullable<Explanation['retry']>): string {
    const which =
      of === null
        ? t('explain.retry.untilExpiry', { attempt, time: exact(email.expiresAt) })
        : t('explain.retry.of', { attempt, of })
    const parts = { which, because: because ? t(`explain.retry.${because}`, { provider, error }) : '' }
    if (state.code === 'scheduled') return t('explain.retry.scheduled', { ...parts, time: exact(state.at) })
    if (state.code === 'becoming-ready') return t('explain.retry.becoming-ready', parts)
    if (state.code === 'turn') return t('explain.retry.turn', { ...parts, position: positionText(state) })
    return t('explain.retry.due', { ...parts, state: stateText(state) })
  }

  function positionText({ ahead, companies }: Extract<State, { code: 'turn' }>): string {
    const before = ahead > 1000 ? t('explain.moreThan', { count: 1000 }) : format.number(ahead)
    return t('explain.position', { ahead: before, count: companies })
  }
}

/** What the recipient's server said, without the name of the protocol: "550 5.1.1 user unknown". */
function diagnosisOf({ events, recipients }: Email): string | null {
  // What was said about a copy says nothing about the e-mail, whose status is that of its `to`.
  const isOfCopy = (place: number | null) => place !== null && recipients[place]?.kind !== 'to'
  const said = events.findLast(
    ({ type, metadata, recipient }) => type === 'BOUNCE' && metadata.diagnosticCode && !isOfCopy(recipient),
  )
  const text = said?.metadata.diagnosticCode
  return typeof text === 'string' ? text.replace(/^smtp;\s*/i, '') : null
}
