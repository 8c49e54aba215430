/** Of every gateway and worker that a test starts in its own process: those of one database must have the same. */
export const SHARED_SECRETS = { ENCRYPTION_KEY: '5c'.repeat(32), HASH_PEPPER: 'pepper-for-tests-'.repeat(3) }
