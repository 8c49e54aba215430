import fc from 'fast-check'
import { SEED } from './seed.ts'

// fast-check prints the seed of a failure.
fc.configureGlobal({ seed: SEED })
