-- Reading queries that applications and runbooks use as they are: each must run unchanged.

SELECT lastFailureCode, COUNT(*)
FROM dlq
GROUP BY lastFailureCode
ORDER BY COUNT(*) DESC;

SELECT companyId, COUNT(*)
FROM dlq
GROUP BY companyId
ORDER BY COUNT(*) DESC
LIMIT 10;

SELECT 
    template_type,
    COUNT(*) as pending_count,
    AVG(retries) as avg_retries
FROM email_queue 
WHERE status = 'pending'
GROUP BY template_type;

SELECT 
    template_type,
    COUNT(*) as total,
    COUNT(CASE WHEN status = 'failed' THEN 1 END) as failed,
    ROUND(COUNT(CASE WHEN status = 'failed' THEN 1 END) * 100.0 / COUNT(*), 2) as failure_rate
FROM email_queue 
WHERE created_at >= NOW() - INTERVAL '7 days'
GROUP BY template_type
ORDER BY failure_rate DESC;

SELECT 
    id,
    template_type,
    recipient_email,
    retries,
    error_message,
    created_at,
    last_attempt_at
FROM email_queue 
WHERE retries > 0 
  AND created_at >= NOW() - INTERVAL '24 hours'
ORDER BY retries DESC, created_at DESC;

SELECT 
    retries,
    COUNT(*) as count,
    COUNT(CASE WHEN status = 'sent' THEN 1 END) as eventually_sent,
    ROUND(COUNT(CASE WHEN status = 'sent' THEN 1 END) * 100.0 / COUNT(*), 2) as recovery_rate
FROM email_queue 
WHERE retries > 0
GROUP BY retries
ORDER BY retries;

-- Marcar email como failed para testar retry
SELECT mark_email_failed(
  'QUEUE_ID_HERE'::uuid,
  'Teste de retry'
);

SELECT 
    status,
    COUNT(*) as count,
    MIN(created_at) as oldest,
    MAX(created_at) as newest
FROM email_queue 
GROUP BY status;

-- Verificar emails pendentes
SELECT * FROM email_queue WHERE status = 'pending';

-- Executar processamento manual
SELECT * FROM process_pending_emails_for_retry(10);

-- Analisar erros mais comuns
SELECT error_message, COUNT(*) 
FROM email_queue 
WHERE status = 'failed' 
GROUP BY error_message 
ORDER BY COUNT(*) DESC;
