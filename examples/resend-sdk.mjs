// The official Resend SDK, unchanged: only the base URL and the key are the gateway's.
import { Resend } from 'resend'
import { needed } from './environment.mjs'

const resend = new Resend(needed('API_KEY'), { baseUrl: needed('GATEWAY_URL') })

const { data, error } = await resend.emails.send({
  from: process.env.EMAIL_FROM ?? 'Shop <shop@example.com>',
  to: ['maria@example.com'],
  subject: 'Your order 1042',
  html: '<p>It is on its way.</p>',
})
if (error) throw new Error(`${error.name}: ${error.message}`)
console.log('Accepted', data.id)

const email = await resend.emails.get(data.id)
console.log('Last event', email.data.last_event)
