-- The span that accepted the e-mail, as a W3C traceparent: later steps, in other processes, add their spans to its trace. Null
-- unless tracing is on and the trace is sampled, so that it takes no room in most rows.
alter table email_outbox add column traceparent text check (length(traceparent) = 55);
