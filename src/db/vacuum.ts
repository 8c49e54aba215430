import type { Queryable } from './pool.ts'

/**
 * Rows of a queue live for moments; what they leave behind, every claim has to step over: with ten companies, that is 0.1 µs per
 * e-mail for every 1 000 claimed since the last pass. A pass over a short queue takes 2 ms.
 */
const AFTER_CLAIMS = 5_000
/** A pass over a large table takes its time. */
const PATIENCE_MS = 3_600_000
/**
 * A pass reads the whole index, 25 ms for a million waiting. What it costs grows with the backlog, what it saves with the square of
 * what was claimed before it, so both are least when the one follows the root of the other.
 */
const AFTER_ROOTS = 50

/**
 * Autovacuum looks once a minute; at ten thousand e-mails a second the claim would wade through half a million dead entries
 * by then. So whoever claims also cleans, every so many claims. Somebody else's pass under way is enough.
 */
export class ReadyVacuum {
  readonly #db: Queryable
  readonly #queue: string
  readonly #tables: string
  #claimed = 0
  #after = AFTER_CLAIMS
  #underWay = false

  /** `queue`: what is claimed from; `others` go along. */
  constructor(db: Queryable, queue = 'email_ready', others = ['leases', 'email_scheduled']) {
    this.#db = db
    this.#queue = queue
    this.#tables = [queue, ...others].join(', ')
  }

  count(claimed: number): void {
    this.#claimed += claimed
  }

  async clean(): Promise<void> {
    if (this.#underWay || this.#claimed < this.#after) return
    this.#underWay = true
    this.#claimed = 0
    try {
      const text = `vacuum (skip_locked, truncate off, index_cleanup on) ${this.#tables}`
      await this.#db.query({ text, query_timeout: PATIENCE_MS } as { text: string })
      const { rows } = await this.#db.query<{ waiting: number }>(
        `select greatest(0, reltuples)::float8 as waiting from pg_class where oid = $1::regclass`,
        [this.#queue],
      )
      this.#after = Math.max(AFTER_CLAIMS, AFTER_ROOTS * Math.sqrt(rows[0]!.waiting))
    } finally {
      this.#underWay = false
    }
  }
}
