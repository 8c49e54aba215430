-- Their parameters have other names now (functions/claim_fair_batch.sql), which "create or replace" refuses.
drop function if exists claim_allowance(companies, uuid[], int[], int, timestamptz);
drop function if exists claim_fair_batch(uuid, text, text, int, int, int, uuid[], uuid[], int[], int);
-- It is called end_marked_email now (functions/sql_mark_failed.sql).
drop function if exists bury_marked_email(email_outbox, text);
-- Its parameters have other names, too (functions/roll_up_template_statistics.sql).
drop function if exists roll_up_template_statistics(timestamptz, timestamptz);
