import { z } from 'zod'
import { hasHostileCharactersInProse } from '../platform/text/characters.ts'

export const MAX_JUSTIFICATION_CHARS = 500

const SAYS_WHY = 'must say why, with at least 3 letters or digits'

const countLettersAndDigits = (text: string) => text.match(/[\p{L}\p{N}]/gu)?.length ?? 0

/** Why somebody changes something, for the audit log, which has it with addresses and documents masked. A full stop says nothing. */
export const justificationSchema = z
  .string()
  .trim()
  .min(3, { error: SAYS_WHY, abort: true })
  .refine(text => countLettersAndDigits(text) >= 3, { message: SAYS_WHY, params: { code: 'SAYS_NOTHING' } })
  .max(MAX_JUSTIFICATION_CHARS)
  .refine(text => !hasHostileCharactersInProse(text), {
    message: 'must not contain control or invisible characters',
    params: { code: 'INVALID_CHARACTERS' },
  })
