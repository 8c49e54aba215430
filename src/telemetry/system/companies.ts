import { valuesOf } from './counters.ts'
import { gauge, labelled, type SystemMetric } from './metric.ts'
import type { Standing } from './snapshot.ts'

const standing = (name: string, help: string, value: (one: Standing) => number) =>
  labelled('gauge', name, ['company_id'], help, ({ standings }) =>
    standings.map(one => [{ company_id: one.companyId }, value(one)]),
  )

/** Fairness between companies, and their reputation. */
export const COMPANY_METRICS: SystemMetric[] = [
  labelled(
    'gauge',
    'tenant_emails_ready',
    ['company_id'],
    'E-mails of the company that are ready, also while it is paused, counted up to 1 000',
    ({ waitingCompanies }) => waitingCompanies.map(({ companyId, ready }) => [{ company_id: companyId }, ready]),
  ),
  labelled(
    'gauge',
    'tenant_oldest_waiting_seconds',
    ['company_id'],
    'How long the oldest ready e-mail of the company has been due, also while it is paused',
    ({ waitingCompanies }) =>
      waitingCompanies.map(one => [{ company_id: one.companyId }, one.oldestWaitingSeconds ?? 0]),
  ),
  labelled(
    'gauge',
    'tenant_consecutive_batch',
    ['company_id'],
    'How many e-mails in a row the claim took of the company that it served last',
    ({ fairness }) => (fairness ? [[{ company_id: fairness.companyId }, fairness.consecutive]] : []),
  ),
  standing('company_bounce_rate', 'Permanent bounces ÷ recipients of the last 24 hours', one => one.bounceRate),
  standing('company_complaint_rate', 'Complaints ÷ recipients of the last 24 hours', one => one.complaintRate),
  standing('company_warned', '1 while the company is warned for its bounces or complaints', one => Number(one.warned)),
  standing('company_paused', '1 while the company is paused', one => Number(one.paused)),
  labelled(
    'gauge',
    'template_recent_sent',
    ['company_id', 'template'],
    'E-mails of the template that were sent in this hour and the one before; only templates that failed',
    ({ templates }) => templates.map(one => [{ company_id: one.companyId, template: one.template }, one.sent]),
  ),
  labelled(
    'gauge',
    'template_recent_failed',
    ['company_id', 'template'],
    'E-mails of the template that failed or expired in this hour and the one before; only templates that failed',
    ({ templates }) => templates.map(one => [{ company_id: one.companyId, template: one.template }, one.failed]),
  ),
  labelled(
    'gauge',
    'retry_success_rate',
    ['attempt'],
    'Attempts with this number that were sent ÷ all with this number, of all time',
    snapshot => {
      const sent = valuesOf(snapshot, 'retry_successes')
      return [...valuesOf(snapshot, 'retry_attempts')].map(([attempt, all]) => [
        { attempt },
        (sent.get(attempt) ?? 0) / all,
      ])
    },
  ),
  gauge(
    'companies_waiting',
    'Companies that have ready e-mails, also those that are paused',
    ({ companiesWaiting }) => companiesWaiting,
  ),
]
