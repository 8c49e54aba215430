-- The e-mails of a lease were compressed from 130 on, a fourteenth of what their claim cost, and are hardly ever read: when the lease
-- is lost, or somebody asks where an e-mail is. Up to 500 they stay in the row as they are; beyond, they are kept beside it.
alter table leases alter column outbox_ids set storage external;
alter table leases set (toast_tuple_target = 8160);
