-- It answers a boolean now (functions/roll_up_statistics.sql), and a function cannot be replaced by one of another type.
drop function if exists roll_up_statistics();
