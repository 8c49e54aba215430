// The order and its e-mail in one transaction: both are there, or neither.
import pg from 'pg'

const client = new pg.Client(process.env.DATABASE_URL)
await client.connect()
try {
  await client.query('begin')
  await client.query('create temporary table orders (id int, customer text)')
  await client.query(`insert into orders values (1042, 'Maria Silva')`)
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
