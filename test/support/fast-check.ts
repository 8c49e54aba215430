import fc from 'fast-check'

/** The same cases in every CI run, new ones on a developer's machine. fast-check prints the seed of a failure. */
const CI_SEED = 20_261_117

if (process.env.CI) fc.configureGlobal({ seed: CI_SEED })
