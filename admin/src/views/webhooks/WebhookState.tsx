import { IconAlertTriangle, IconBan, IconCircleCheck } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import type { WebhookOverview } from '../../api/webhooks.ts'
import { Tone } from '../../components/Tone.tsx'

export function WebhookState({ webhook }: { webhook: WebhookOverview }) {
  const { t } = useTranslation('webhooks')
  if (!webhook.enabled)
    return (
      <Tone tone="red" icon={IconBan}>
        {t('states.disabled')}
        {webhook.disabledReason && ` (${t(`disabledReasons.${webhook.disabledReason}`)})`}
      </Tone>
    )
  return webhook.failingSince ? (
    <Tone tone="amber" icon={IconAlertTriangle}>
      {t('states.failing')}
    </Tone>
  ) : (
    <Tone tone="green" icon={IconCircleCheck}>
      {t('states.enabled')}
    </Tone>
  )
}
