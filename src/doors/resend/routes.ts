import type { EmailRouteDeps } from '../../emails/routes.ts'
import type { SendRouteDeps } from '../../pipeline/accept/routes.ts'
import type { SuppressionRouteDeps } from '../../suppression/routes.ts'
import type { App } from '../../web/server.ts'
import type { WebhookDeps } from '../../webhooks/endpoints.ts'
import { resendApiKeyRoutes } from './api-keys.ts'
import { resendAttachmentRoutes } from './attachments.ts'
import { type DomainRouteDeps, resendDomainRoutes } from './domains.ts'
import { resendEmailRoutes } from './emails.ts'
import { answerInResendForm, resendNotOfferedRoutes } from './errors.ts'
import { resendSendRoutes } from './send.ts'
import { resendSuppressionRoutes } from './suppressions.ts'
import { resendTemplateRoutes } from './templates.ts'
import { resendWebhookEventRoutes, resendWebhookRoutes } from './webhooks.ts'

export type ResendRouteDeps = SendRouteDeps &
  EmailRouteDeps &
  SuppressionRouteDeps &
  WebhookDeps &
  DomainRouteDeps & { publicUrl: string | undefined }

/** The routes of the Resend API, so that its SDK works unchanged; see docs/resend.md. They call the same steps as the native ones. */
export function resendRoutes(app: App, deps: ResendRouteDeps): void {
  answerInResendForm(app)
  resendSendRoutes(app, deps)
  resendEmailRoutes(app, deps)
  resendAttachmentRoutes(app, deps)
  resendApiKeyRoutes(app, deps)
  resendDomainRoutes(app, deps)
  resendWebhookRoutes(app, deps)
  resendWebhookEventRoutes(app, deps)
  resendSuppressionRoutes(app, deps)
  resendTemplateRoutes(app, deps)
  resendNotOfferedRoutes(app)
}
