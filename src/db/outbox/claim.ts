import { list, type Queryable, READY_AGAIN, run, WAITING_AND_DUE } from '../pool.ts'

export type Claim = {
  leaseId: string
  /** work: this process has them in hand. dispatch: they go on the queue. */
  kind: 'work' | 'dispatch'
  holder: string
  leaseSeconds: number
  size: number
  perTurn: number
  /** Leases whose work is done; they end with this claim. */
  ended: string[]
  /** How many more of a company may be taken; `most` of any company that is not named. */
  left: Map<string, number>
  most: number
}

export type Claimed = { outboxId: string; companyId: string }

/** The next e-mails in the fair order, leased. Their rows are not touched before their attempts start. */
export async function claimFairBatch(db: Queryable, claim: Claim): Promise<Claimed[]> {
  const { leaseId, kind, holder, leaseSeconds, size, perTurn, ended, left, most } = claim
  const [row] = await run<{ claimed: string }>(
    db,
    'claim-fair-turns',
    `select array_to_string(claim_fair_turns($1, $2, $3, $4, $5, $6, $7, $8, $9, $10), ',') as claimed`,
    [leaseId, kind, holder, leaseSeconds, size, perTurn, list(ended), list([...left.keys()]), [...left.values()], most],
  )
  return inPairs(row!.claimed)
}

const ID_LENGTH = 36

/**
 * One text for the batch, the e-mails and then their companies: a hundred rows are dearer to write and to read. Each id becomes a
 * text of its own: a piece of the long one (what split makes) is looked up in it at every comparison from here to the settlement.
 */
function inPairs(claimed: string): Claimed[] {
  const bytes = Buffer.from(claimed, 'latin1')
  const idAt = (byte: number) => bytes.toString('latin1', byte, byte + ID_LENGTH)
  const pairs: Claimed[] = []
  const half = (claimed.length + 1) / 2
  let companyId = ','
  for (let byte = 0; byte < half - 1; byte += ID_LENGTH + 1) {
    // Nearly always that of its neighbour.
    if (!claimed.startsWith(companyId, half + byte)) companyId = idAt(half + byte)
    pairs.push({ outboxId: idAt(byte), companyId })
  }
  return pairs
}

/** Back into the line, as if they had never been claimed: what a process has in hand and will not start on. */
export async function returnToReady(db: Queryable, outboxIds: string[]): Promise<void> {
  if (outboxIds.length === 0) return
  await run(
    db,
    'hand-back',
    `insert into email_ready (company_id, priority, outbox_id)
     select company_id, priority, outbox_id from email_outbox o
     where outbox_id = any($1) and ${WAITING_AND_DUE}
     ${READY_AGAIN}`,
    [outboxIds],
  )
}
