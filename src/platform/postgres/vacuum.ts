import type { Queryable } from './query.ts'

/**
 * Every claim has to skip the dead index entries of earlier claims: with ten companies that costs 0.1 µs per e-mail for every
 * 1 000 e-mails claimed since the last vacuum. Vacuuming a short queue takes 2 ms.
 */
const MIN_CLAIMS = 5_000
/** Vacuuming a large table may take long. */
const TIMEOUT_MS = 3_600_000
/**
 * Vacuum reads the whole index, 25 ms for a million waiting e-mails. Its cost grows with the backlog, and the cost of skipping dead
 * entries with the square of the claims between two runs: the sum is least if the claims grow with the root of the backlog.
 */
const CLAIMS_PER_ROOT_OF_BACKLOG = 50

/**
 * Autovacuum runs once a minute; at ten thousand e-mails a second the claim would then skip half a million dead entries. So the
 * process that claims also vacuums, after a number of claims. `skip_locked`: a vacuum that another process runs is enough.
 */
export class ReadyVacuum {
  readonly #db: Queryable
  readonly #queue: string
  readonly #tables: string
  #claimed = 0
  #vacuumAfter = MIN_CLAIMS
  #running = false

  /** `queue`: the table that is claimed from; `others` are vacuumed with it. */
  constructor(db: Queryable, queue = 'email_ready', others = ['leases', 'email_scheduled']) {
    this.#db = db
    this.#queue = queue
    this.#tables = [queue, ...others].join(', ')
  }

  count(claimed: number): void {
    this.#claimed += claimed
  }

  async clean(): Promise<void> {
    if (this.#running || this.#claimed < this.#vacuumAfter) return
    this.#running = true
    this.#claimed = 0
    try {
      const text = `vacuum (skip_locked, truncate off, index_cleanup on) ${this.#tables}`
      await this.#db.query({ text, query_timeout: TIMEOUT_MS } as { text: string })
      const { rows } = await this.#db.query<{ waiting: number }>(
        `select greatest(0, reltuples)::float8 as waiting from pg_class where oid = $1::regclass`,
        [this.#queue],
      )
      this.#vacuumAfter = Math.max(MIN_CLAIMS, CLAIMS_PER_ROOT_OF_BACKLOG * Math.sqrt(rows[0]!.waiting))
    } finally {
      this.#running = false
    }
  }
}
