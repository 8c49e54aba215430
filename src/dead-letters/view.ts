import { z } from 'zod'
import { DEAD_STATUSES, type DeadLetterFilter } from '../outbox/dead-letters.ts'
import { dlqEntrySchema } from '../outbox/dlq-entry.ts'
import { EMAIL_STATUSES } from '../outbox/states.ts'
import { rangeEndSchema } from '../platform/text/instant.ts'

export const DEAD_LETTER_PAGE = 200

/** In a query string and in the body of a bulk action. */
export const deadLetterFilterFields = {
  company: z.uuid().optional(),
  code: z
    .string()
    .min(1)
    .max(200)
    .refine(text => !text.includes('\0'), 'must not contain NUL')
    .optional()
    .describe("The gateway's error code, or the provider's"),
  status: z.enum(DEAD_STATUSES).optional().describe('Of the e-mail'),
  since: rangeEndSchema.optional().describe('Dead since that time'),
  until: rangeEndSchema.optional(),
}

export function toFilter(query: z.output<z.ZodObject<typeof deadLetterFilterFields>>): DeadLetterFilter {
  const { company = null, code = null, status = null, since = null, until = null } = query
  return { companyId: company, code, status, since, until }
}

export const deadLetterSchema = z
  .object({
    ...dlqEntrySchema.shape,
    companyName: z.string(),
    status: z.enum(EMAIL_STATUSES).nullable().describe('null: retention has dropped the e-mail'),
    payloadPurged: z.boolean(),
    replayable: z.boolean(),
  })
  .meta({ id: 'DeadLetter' })

export const deadLetterPageSchema = z
  .object({ data: z.array(deadLetterSchema), cursor: z.string().nullable(), hasMore: z.boolean() })
  .meta({ id: 'DeadLetterPage' })

export const deadLetterGroupsSchema = z
  .object({
    data: z.array(
      z.object({
        code: z.string().nullable(),
        companyId: z.uuid(),
        companyName: z.string(),
        entries: z.int(),
        firstSeen: z.iso.datetime(),
        lastSeen: z.iso.datetime(),
        lastReason: z.string().describe('Of the newest one'),
        providerCode: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: 'DeadLetterGroups' })

export const deadLetterCountSchema = z
  .object({
    all: z.int(),
    replayable: z.int().describe('What a replay with this filter takes'),
    payloadPurged: z.int().describe('Dead, and nothing is left to send again'),
    outcomeUnknown: z.int().describe('May have been sent; left out unless the filter names SEND_OUTCOME_UNKNOWN'),
  })
  .meta({ id: 'DeadLetterCount' })
