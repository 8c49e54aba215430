export type SesMail = {
  messageId: string
  to: string[]
  outboxId?: string
  attemptId?: string
  at?: string
  /** Identity notifications: no tags, notificationType. */
  classic?: boolean
}

export type SesKind = 'Send' | 'Delivery' | 'Bounce' | 'Complaint' | 'Reject' | 'DeliveryDelay' | 'Rendering Failure'

/** An event as Amazon SES publishes it. */
export function sesEvent(kind: SesKind, mail: SesMail, details: Record<string, unknown> = {}): Record<string, unknown> {
  const { messageId, to, outboxId, attemptId, at = new Date().toISOString(), classic = false } = mail
  const tags = {
    'ses:configuration-set': ['email-gateway'],
    ...(outboxId && { outbox_id: [outboxId] }),
    ...(attemptId && { attempt_id: [attemptId] }),
  }
  return {
    [classic ? 'notificationType' : 'eventType']: kind,
    mail: {
      timestamp: at,
      messageId,
      source: 'shop@example.com',
      sourceArn: 'arn:aws:ses:us-east-1:123456789012:identity/example.com',
      sendingAccountId: '123456789012',
      destination: to,
      ...(!classic && { headersTruncated: false, tags }),
    },
    ...DETAILS[kind](mail, at, details),
  }
}

type Details = (mail: SesMail, at: string, change: Record<string, unknown>) => Record<string, unknown>

const DETAILS: Record<SesKind, Details> = {
  Send: () => ({ send: {} }),
  Delivery: ({ to }, at, change) => ({
    delivery: {
      timestamp: at,
      processingTimeMillis: 4567,
      recipients: to,
      smtpResponse: `250 2.0.0 OK for <${to[0]}>`,
      reportingMTA: 'a8-123.smtp-out.amazonses.com',
      ...change,
    },
  }),
  Bounce: ({ to, messageId }, at, change) => ({
    bounce: {
      bounceType: 'Permanent',
      bounceSubType: 'General',
      bouncedRecipients: to.map(emailAddress => ({
        emailAddress,
        action: 'failed',
        status: '5.1.1',
        diagnosticCode: `smtp; 550 5.1.1 <${emailAddress}>: user unknown`,
      })),
      timestamp: at,
      feedbackId: `bounce-${messageId}`,
      ...change,
    },
  }),
  Complaint: ({ to, messageId }, at, change) => ({
    complaint: {
      complainedRecipients: to.map(emailAddress => ({ emailAddress })),
      timestamp: at,
      feedbackId: `complaint-${messageId}`,
      userAgent: 'Gmail',
      complaintFeedbackType: 'abuse',
      arrivalDate: at,
      ...change,
    },
  }),
  Reject: (_mail, _at, change) => ({ reject: { reason: 'Bad content', ...change } }),
  DeliveryDelay: ({ to }, at, change) => ({
    deliveryDelay: {
      delayType: 'MailboxFull',
      delayedRecipients: to.map(emailAddress => ({ emailAddress, status: '4.2.2' })),
      expirationTime: at,
      timestamp: at,
      ...change,
    },
  }),
  'Rendering Failure': (_mail, _at, change) => ({
    failure: { templateName: 'Welcome', errorMessage: 'Attribute name is not present', ...change },
  }),
}
