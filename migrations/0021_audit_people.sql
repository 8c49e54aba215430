-- What people did, without the bounces and expiries between: those are most of this log, and a page would pass over all of them.
create index suppression_audit_log_people on suppression_audit_log (performed_at, id) where performed_by <> 'system';
