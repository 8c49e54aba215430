import { useTranslation } from 'react-i18next'
import { useFormat } from '../lib/format.ts'
import { parseReputationReason } from '../lib/reputation-reason.ts'

const GOOD_AGAIN = 'Bounces and complaints are below half of the limits again'

/** Why something was done: the gateway's own reasons in the language of the reader, other ones as they were typed. */
export function useReasonText(): (reason: string) => string {
  const { t } = useTranslation()
  const format = useFormat()
  return reason => {
    if (reason === GOOD_AGAIN) return t('reputation.goodAgain')
    const passed = parseReputationReason(reason)
    if (!passed) return reason
    return passed
      .map(({ what, rate, events, sent, hours, limit }) =>
        t(`reputation.${what}`, {
          rate: format.percent(rate),
          events: format.number(events),
          sent: format.number(sent),
          hours,
          limit: format.percent(limit),
        }),
      )
      .join('; ')
  }
}
