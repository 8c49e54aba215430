import { gauge, labelled, type SystemMetric } from './metric.ts'

/** What waits, how long, and who works on it. */
export const QUEUE_METRICS: SystemMetric[] = [
  gauge(
    'emails_ready',
    'E-mails that are ready, also those of paused companies, counted up to 100 000',
    ({ queue }) => queue.ready,
  ),
  gauge('emails_scheduled', 'E-mails that are due later, counted up to 100 000', ({ queue }) => queue.scheduled),
  gauge(
    'oldest_waiting_email_seconds',
    'How long the oldest ready e-mail of a company that is not paused has been due',
    ({ queue }) => queue.oldestWaitingSeconds ?? 0,
  ),
  gauge('workers_alive', 'Workers with a heartbeat within the last 15 seconds', ({ queue }) => queue.workers),
  gauge('unknown_sends_open', 'E-mails whose outcome is not known yet', ({ queue }) => queue.unknown),
  gauge(
    'oldest_unknown_send_seconds',
    'How long the outcome of the oldest of them has been unknown',
    ({ queue }) => queue.oldestUnknownSeconds ?? 0,
  ),
  gauge(
    'ledger_imbalance',
    'Accepted e-mails that are in no place; 0 is right',
    ({ ledgerImbalance }) => ledgerImbalance,
  ),
  labelled(
    'gauge',
    'housekeeping_last_run_timestamp_seconds',
    ['task'],
    'When each task of housekeeping last ended well, in any process',
    ({ housekeeping }) => housekeeping.map(one => [{ task: one.task }, one.finishedAtSeconds]),
  ),
  labelled(
    'gauge',
    'housekeeping_interval_seconds',
    ['task'],
    'How often each task of housekeeping runs',
    ({ housekeeping }) => housekeeping.map(one => [{ task: one.task }, one.everySeconds]),
  ),
]
