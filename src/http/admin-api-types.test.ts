import { expect, test } from 'vitest'
import { type ApiDocument, adminApiTypes, typeOf } from '../../scripts/admin-api-types.ts'
import { makeLog } from '../telemetry/log.ts'
import { buildApp } from './app.ts'

test('the types of the admin UI are those of the routes (after a change: npm run admin:types)', async () => {
  const nothing = {
    db: {},
    folder: {},
    keys: {},
    accept: {},
    suppression: {},
    webhooks: {},
    events: { resendSecrets: [] },
    tokens: {},
  }
  const log = makeLog({ level: 'silent', pretty: false })
  const app = await buildApp({ ...nothing, log, publicUrl: 'http://gateway.test', version: '0' } as never)
  await app.ready()
  const types = adminApiTypes(app.swagger() as unknown as ApiDocument)
  await app.close()
  await expect(types).toMatchFileSnapshot('../../admin/src/api/schema.d.ts')
})

test('a schema becomes the type of the values it describes', () => {
  const company = {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Unique' },
      state: { enum: ['active', "it's"] },
      pausedAt: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      webhooks: { type: 'array', items: { $ref: '#/components/schemas/Webhook' } },
      'x-more': { type: 'object', additionalProperties: { type: 'integer' } },
    },
    required: ['name', 'webhooks'],
  }
  expect(typeOf(company)).toBe(`{
  /** Unique */
  name: string
  state?: 'active' | 'it\\'s'
  pausedAt?: string | null
  webhooks: (components['schemas']['Webhook'])[]
  'x-more'?: Record<string, number>
}`)
})
