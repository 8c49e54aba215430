import { z } from 'zod'

export const idParams = z.object({ id: z.string() })

/** The part of a route's schema that OpenAPI shows. The answers are those of Resend; see docs/resend.md. */
export const described = <Rest extends object>(summary: string, rest: Rest = {} as Rest) => ({
  summary,
  tags: ['Resend-compatible'],
  ...rest,
})
