-- An e-mail that is sent when this transaction commits, and never if it does not.
begin;

select enqueue_email(
  null,                                                   -- your user's id, if there is one
  'welcome_user',                                         -- the template
  'maria@example.com',
  '{"user_data": {"full_name": "Maria Silva"}}'::jsonb    -- its variables
);

commit;

select id, template_type, recipient_email, status, retries from email_queue order by created_at desc limit 1;
