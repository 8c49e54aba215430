import { expect, test } from 'vitest'
import { type ApiDocument, adminApiTypes, typeOf } from '../../scripts/admin-api-types.ts'
import { apiDocument } from '../../test/support/api-document.ts'

test('the types of the admin UI are those of the routes (after a change: npm run admin:types)', async () => {
  const types = adminApiTypes((await apiDocument()) as unknown as ApiDocument)
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
