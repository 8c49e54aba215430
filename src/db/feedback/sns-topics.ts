import { writeAudit } from '../audit.ts'
import type { Author } from '../audited-change.ts'
import type { Database } from '../pool.ts'
import { inTransaction, type Queryable, run } from '../query.ts'

export async function listTopics(db: Queryable): Promise<string[]> {
  const rows = await run<{ topicArn: string }>(
    db,
    'list-sns-topics',
    `select topic_arn as "topicArn" from sns_topics order by topic_arn`,
    [],
  )
  return rows.map(({ topicArn }) => topicArn)
}

/** From now on the gateway accepts the topic's messages. */
export async function acceptTopic(pool: Database['pool'], topicArn: string, author: Author): Promise<void> {
  await inTransaction(pool, async tx => {
    const rows = await run(
      tx,
      'accept-sns-topic',
      `insert into sns_topics (topic_arn) values ($1) on conflict do nothing returning 1 as one`,
      [topicArn],
    )
    if (rows.length > 0)
      await writeAudit(tx, {
        ...author,
        subjectType: 'sns_topic',
        subjectId: topicArn,
        action: 'SNS_TOPIC_ACCEPTED',
        after: { topicArn },
      })
  })
}

/** Whether an event of this message of Amazon SES has been stored. Its payload is kept, since it belongs to no e-mail. */
export async function hasEventOf(db: Queryable, messageId: string, withinSeconds: number): Promise<boolean> {
  const rows = await run(
    db,
    'has-event-of',
    `select 1 as one from provider_events
     where provider = 'ses' and received_at > now() - $2 * interval '1 second' and position($1 in payload) > 0 limit 1`,
    [messageId, withinSeconds],
  )
  return rows.length > 0
}
