-- One setting of the installation now: LINK_SCHEMES.
alter table companies drop column link_schemes;
-- A process that differs from the running ones refuses to start, and no longer waits.
alter table gateway_processes drop column waiting;
