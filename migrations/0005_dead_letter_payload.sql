-- Dead letters keep their metadata for ever, so their lists must not read all of them. original_data is null once the
-- payload has been purged (db/dead-letters-purge.ts), which also says that the e-mail cannot be replayed any more.

-- Every list, replay, export and purge walks this one, newest or oldest first.
create index dead_letters_moved on dead_letters (moved_at, outbox_id);

-- What still has a payload: a week's entries, however many there have ever been.
create index dead_letters_payload on dead_letters (moved_at, outbox_id) where original_data is not null;
