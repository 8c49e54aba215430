-- The metadata of an event without what could name a person: only fields that are known to hold numbers, times, codes and ids.
create or replace function without_personal_data(metadata jsonb) returns jsonb language sql immutable as $$
  select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(metadata)
  where key in (
    'attempt', 'attempts', 'attemptId', 'nextAttemptNumber', 'previousAttempts', 'previousStatus', 'backoffDelay', 'willRetry',
    'provider', 'messageId', 'sesMessageId', 'durationMs', 'processingTimeMs', 'graceSeconds', 'priority', 'requestId',
    'errorCode', 'errorCategory', 'providerCode', 'originalCode', 'lastErrorCode', 'lastProviderCode', 'validation', 'validations',
    'parked', 'throttled', 'unconnected', 'by', 'from', 'event', 'cancelledBy', 'replayedBy',
    'bounceType', 'bounceSubType', 'feedbackType',
    'queuedAt', 'sentAt', 'deliveredAt', 'bouncedAt', 'complaintAt', 'rejectedAt', 'at')
$$;

revoke execute on function without_personal_data from public;
