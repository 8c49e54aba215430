-- Templates of e-mails, by company, type and locale. A version is never changed: an update is a new one, which is a draft until it
-- is published.

create table templates (
  template_id      uuid primary key default gen_random_uuid(),
  -- Null: a starter, which every company may use and no company may change. A company's own template of the same type replaces it.
  company_id       uuid references companies on delete cascade,
  type             text not null check (type ~ '^[a-z0-9][a-z0-9_-]{0,63}$'),
  locale           text not null check (locale ~ '^[a-z]{2,3}(-[A-Z]{2})?$'),
  -- The version in use; null: none has been published.
  published_number int,
  created_at       timestamptz not null default now(),
  updated_at       timestamptz not null default now(),
  unique nulls not distinct (company_id, type, locale)
);

create table template_versions (
  version_id   uuid primary key default gen_random_uuid(),
  template_id  uuid not null references templates on delete cascade,
  number       int not null check (number >= 1),
  subject      text not null check (length(subject) between 1 and 500),
  html         text,
  text         text,
  created_at   timestamptz not null default now(),
  -- The API key or the command line.
  created_by   text not null check (length(created_by) between 1 and 100),
  -- When it was last put into use; null: a draft.
  published_at timestamptz,
  unique (template_id, number),
  constraint has_content check (html is not null or text is not null)
);
alter table templates add constraint published_version_exists
  foreign key (template_id, published_number) references template_versions (template_id, number) deferrable initially deferred;

-- What became of a company's live e-mails of one template, by the hour, counted like company_statistics.
create table template_statistics (
  company_id uuid not null,
  type       text not null,
  hour       timestamptz not null,
  accepted   bigint not null default 0,
  sent       bigint not null default 0,
  failed     bigint not null default 0,
  retries    bigint not null default 0,
  primary key (company_id, type, hour)
);
create index template_statistics_hour on template_statistics (hour);

-- The starters: a greeting, a paragraph, an optional button, a closing sentence.
with words (type, locale, subject, greeting, body, button, link, closing) as (values
  ('welcome_user', 'pt-BR', 'Boas-vindas, {{ user_data.full_name }}!', 'Olá, {{ user_data.full_name }}!',
    'Sua conta foi criada e já pode ser usada.', 'Acessar minha conta', 'action_url',
    'Se precisar de ajuda, responda a este e-mail.'),
  ('welcome_user', 'en', 'Welcome, {{ user_data.full_name }}!', 'Hello {{ user_data.full_name }},',
    'Your account has been created and is ready to use.', 'Go to my account', 'action_url',
    'If you need help, reply to this e-mail.'),
  ('signup_confirmation', 'pt-BR', 'Confirme seu cadastro', 'Olá, {{ user_data.full_name }}!',
    'Recebemos seu cadastro. Para concluí-lo, confirme seu e-mail.', 'Confirmar cadastro', 'confirmation_url',
    'Se você não fez este cadastro, ignore este e-mail.'),
  ('signup_confirmation', 'en', 'Confirm your registration', 'Hello {{ user_data.full_name }},',
    'We have received your registration. Please confirm your e-mail address to complete it.', 'Confirm registration', 'confirmation_url',
    'If you did not register, ignore this e-mail.'),
  ('password_reset', 'pt-BR', 'Redefinição de senha', 'Olá, {{ user_data.full_name }}!',
    'Recebemos um pedido para redefinir sua senha. O link vale por {{ expires_in | default: "1 hora" }}.', 'Redefinir senha', 'reset_url',
    'Se você não fez este pedido, ignore este e-mail: sua senha continua a mesma.'),
  ('password_reset', 'en', 'Reset your password', 'Hello {{ user_data.full_name }},',
    'We have received a request to reset your password. The link is valid for {{ expires_in | default: "1 hour" }}.', 'Reset password', 'reset_url',
    'If you did not make this request, ignore this e-mail: your password stays the same.'),
  ('email_verification', 'pt-BR', 'Verifique seu e-mail', 'Olá, {{ user_data.full_name }}!',
    'Verifique este endereço de e-mail{% if code %} com o código {{ code }}{% endif %}.', 'Verificar e-mail', 'verification_url',
    'Se você não pediu esta verificação, ignore este e-mail.'),
  ('email_verification', 'en', 'Verify your e-mail address', 'Hello {{ user_data.full_name }},',
    'Please verify this e-mail address{% if code %} with the code {{ code }}{% endif %}.', 'Verify address', 'verification_url',
    'If you did not ask for this, ignore this e-mail.'),
  ('payment_receipt', 'pt-BR', 'Recibo de pagamento{% if payment.number %} {{ payment.number }}{% endif %}', 'Olá, {{ user_data.full_name }}!',
    'Recebemos seu pagamento de {{ payment.amount }}{% if payment.date %} em {{ payment.date }}{% endif %}.', 'Ver recibo', 'receipt_url',
    'Obrigado!'),
  ('payment_receipt', 'en', 'Payment receipt{% if payment.number %} {{ payment.number }}{% endif %}', 'Hello {{ user_data.full_name }},',
    'We have received your payment of {{ payment.amount }}{% if payment.date %} on {{ payment.date }}{% endif %}.', 'View receipt', 'receipt_url',
    'Thank you!')
), starters as (
  insert into templates (type, locale, published_number) select type, locale, 1 from words returning template_id, type, locale
)
insert into template_versions (template_id, number, subject, html, text, created_by, published_at)
select s.template_id, 1, w.subject,
  '<!doctype html>
<html lang="' || w.locale || '">
<body style="margin:0;padding:24px;background:#f4f4f5;font-family:Arial,Helvetica,sans-serif;color:#18181b">
<table role="presentation" width="100%" style="max-width:560px;margin:0 auto;background:#ffffff;border-radius:8px"><tr><td style="padding:32px">
<p style="font-size:18px;margin:0 0 16px">' || w.greeting || '</p>
<p style="line-height:1.5;margin:0 0 16px">' || w.body || '</p>
{% if ' || w.link || ' %}<p style="margin:24px 0"><a href="{{ ' || w.link || ' }}" style="background:#18181b;color:#ffffff;padding:12px 20px;border-radius:6px;text-decoration:none">' || w.button || '</a></p>{% endif %}
<p style="line-height:1.5;margin:0;color:#52525b">' || w.closing || '</p>
</td></tr></table>
</body>
</html>
',
  w.greeting || '

' || w.body || '
{% if ' || w.link || ' %}
' || w.button || ': {{ ' || w.link || ' }}
{% endif %}
' || w.closing || '
', 'starter', now()
from starters s join words w using (type, locale);
