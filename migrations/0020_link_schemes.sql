-- URL schemes of a company's own apps (myapp://…), which its e-mails may link to beside the web, mail and phones.
alter table companies add column link_schemes text[] not null default '{}' check (cardinality(link_schemes) <= 20);
