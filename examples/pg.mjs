// The order and its e-mail in one transaction: both are there, or neither.
import pg from 'pg'
import { needed } from './environment.mjs'

const client = new pg.Client(needed('DATABASE_URL'))
await client.connect()
try {
  await client.query('begin')
  // Here your own statements, such as: insert into orders …
  const { rows } = await client.query('select enqueue_email(null, $1, $2, $3) as id', [
    'welcome_user',
    'maria@example.com',
    { user_data: { full_name: 'Maria Silva' } },
  ])
  await client.query('commit')
  console.log('Accepted', rows[0].id)
} finally {
  await client.end()
}
