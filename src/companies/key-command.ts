import {
  type Answer,
  actionOf,
  type Command,
  type Input,
  notFound,
  operator,
  reading,
  required,
  text,
  UsageError,
  writing,
} from '../console/command.ts'
import { SCOPES, type Scope } from '../web/access.ts'
import { issueKey, withdrawKey } from './changes.ts'
import { requireCompany } from './command.ts'
import { type KeyMode, keyExists, listKeys } from './keys.ts'

export const keyCommand: Command = {
  usage: [
    ['key create --company ID|NAME [OPTIONS]', 'create an API key, which is shown only once'],
    ['key list [--company ID|NAME]', 'all keys, without their secrets'],
    ['key revoke KEY_ID', 'revoke a key; every process refuses it within a second'],
  ],
  words: { create: 0, list: 0, revoke: 1 },
  options: {
    company: { type: 'string', value: 'ID|NAME', help: 'the company of the key', actions: ['create', 'list'] },
    test: { type: 'boolean', help: 'create a test key: its e-mails are never sent to a provider', actions: ['create'] },
    scopes: { type: 'string', value: SCOPES.join(','), help: 'what the key may do (all)', actions: ['create'] },
    name: { type: 'string', value: 'TEXT', help: 'a description', actions: ['create'] },
  },
  run({ words: [action, keyId], values }) {
    const act = actionOf(ACTIONS, action, 'key')
    return act(values, keyId)
  },
}

type Action = (values: Input['values'], keyId: string | undefined) => Promise<Answer>

const ACTIONS: Record<'create' | 'list' | 'revoke', Action> = {
  create: writing(async ({ db, config }, values) => {
    const { companyId } = await requireCompany(db, text(values, 'company'))
    const mode: KeyMode = values.test === true ? 'test' : 'live'
    const wanted = { companyId, mode, scopes: scopesOf(values), name: text(values, 'name') ?? null }
    const key = await issueKey(db.pool, config.hashPepper, wanted, { performedBy: operator() })
    return { json: key, lines: [`Key ${key.keyId}`, `API key ${key.apiKey}`, 'The key is shown only this once.'] }
  }),
  list: reading(async ({ db }, values) => {
    const company = text(values, 'company')
    const keys = await listKeys(db.pool, company ? (await requireCompany(db, company)).companyId : null)
    const lines = keys.map(key => {
      const state = key.revokedAt ? 'REVOKED' : `last used ${key.lastUsedAt?.toISOString() ?? 'never'}`
      return `sk_${key.mode}_${key.keyId}_…  company ${key.companyName} (${key.companyId})  ${key.scopes.join(',')}  ${state}${key.name ? `  ${key.name}` : ''}`
    })
    return { json: { data: keys }, lines: lines.length > 0 ? lines : ['No keys yet.'] }
  }),
  revoke: writing(async ({ db }, _values, given) => {
    // Accepts the whole key as well; its id is the middle part.
    const keyId = required(given, 'KEY_ID').replace(/^sk_(live|test)_([0-9a-z]+)(_.*)?$/, '$2')
    const revoked = await withdrawKey(db.pool, keyId, {}, { performedBy: operator() })
    if (!revoked && !(await keyExists(db.pool, keyId)))
      throw notFound(`There is no key ${keyId}. List them with: email-gateway key list`)
    return {
      json: { keyId, revoked: true },
      lines: [`Key ${keyId} is revoked; every process refuses it within a second.`],
    }
  }),
}

function scopesOf(values: Input['values']): Scope[] {
  const given = text(values, 'scopes')
  if (given === undefined) return [...SCOPES]
  const scopes = given.split(',').map(scope => scope.trim())
  if (scopes.length === 0 || !scopes.every(scope => SCOPES.includes(scope as Scope)))
    throw new UsageError(`--scopes must be some of ${SCOPES.join(',')}`)
  return scopes as Scope[]
}
