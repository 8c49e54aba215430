-- Of two first starts with different peppers at the same moment, one is recorded and the other is refused.
create unique index secret_fingerprints_one_pepper on secret_fingerprints (setting) where setting = 'HASH_PEPPER';
