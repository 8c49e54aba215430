// Any program that speaks SMTP: the password is an API key, the user name is free.
import { createTransport } from 'nodemailer'
import { needed } from './environment.mjs'

const { hostname, port } = new URL(needed('SMTP_URL'))
const transport = createTransport({
  host: hostname,
  port: Number(port),
  // On the same machine the gateway takes a key without TLS; over a network set SMTP_TLS_CERT and SMTP_TLS_KEY, and leave this out.
  ignoreTLS: hostname === '127.0.0.1',
  auth: { user: 'gateway', pass: needed('API_KEY') },
})

const sent = await transport.sendMail({
  from: process.env.EMAIL_FROM ?? 'Shop <shop@example.com>',
  to: 'maria@example.com',
  subject: 'Your order 1042',
  html: '<p>It is on its way.</p>',
  attachments: [{ filename: 'invoice.txt', content: 'Total: R$ 42,00' }],
  headers: { 'Idempotency-Key': `order-1042-${Date.now()}` },
})
console.log('Accepted', sent.response)
