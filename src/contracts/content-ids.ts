import type { z } from 'zod'

/** A link such as cid:logo must mean one file. `field`: as the caller writes it. */
export const refuseRepeatedContentIds =
  (field: string) =>
  (files: { contentId?: string | undefined }[], context: z.RefinementCtx): void => {
    const firstUse = new Map<string, number>()
    files.forEach(({ contentId }, index) => {
      if (contentId === undefined) return
      const first = firstUse.get(contentId)
      if (first === undefined) firstUse.set(contentId, index)
      else
        context.addIssue({
          code: 'custom',
          path: [index, field],
          message: `is the same as that of attachments[${first}]`,
        })
    })
  }
