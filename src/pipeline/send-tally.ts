import type { ReputationCount } from '../db/reputation.ts'

/**
 * What each company sends, added up here and written now and then: a settlement that counted would make all settlements of a company
 * wait for one row. A process that is killed loses some seconds of a figure that is judged by the day.
 */
export class SendTally {
  readonly #write: (counts: ReputationCount[]) => Promise<void>
  #sent = new Map<string, number>()

  constructor(write: (counts: ReputationCount[]) => Promise<void>) {
    this.#write = write
  }

  count(companyId: string, recipients: number): void {
    this.#sent.set(companyId, (this.#sent.get(companyId) ?? 0) + recipients)
  }

  /** What cannot be written now goes with the next. */
  async flush(): Promise<void> {
    const sent = this.#sent
    if (sent.size === 0) return
    this.#sent = new Map()
    try {
      await this.#write([...sent].map(([companyId, count]) => ({ companyId, sent: count })))
    } catch (error) {
      for (const [companyId, count] of sent) this.count(companyId, count)
      throw error
    }
  }
}
