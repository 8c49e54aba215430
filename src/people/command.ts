import { requireCompany } from '../companies/command.ts'
import {
  type Answer,
  actionOf,
  type Command,
  type Input,
  notFound,
  type Opened,
  operator,
  reading,
  required,
  text,
  UsageError,
  writing,
} from '../console/command.ts'
import { writeTo, writeToFile } from '../console/output.ts'
import { keyRing } from '../platform/encryption.ts'
import { isUuid } from '../platform/text/uuid.ts'
import { eraseWithin, findReceipt, requestErasure } from './erase.ts'
import { exportPerson } from './export.ts'
import { ERASED_KINDS, type ErasureReceipt, type Person, personSchema } from './people.ts'

/** A batch takes a moment; an e-mail that is being sent has 30 seconds to end. */
const ERASE_MS = 60_000

export const personCommand: Command = {
  usage: [
    [
      'person erase PERSON [--company ID|NAME]',
      'erase every e-mail and record of a person, cancel what waits, and print the receipt',
    ],
    ['person export PERSON [--company ID|NAME] [--out FILE]', 'everything that is kept about a person, as JSON'],
    ['person receipt RECEIPT_ID', 'the receipt of an erasure, and whether it is done'],
  ],
  notes: [
    'PERSON is one or more of --email, --cpf, --external-id, all of the same person. --external-id needs --company. What is being sent is erased by the running gateway when it has ended.',
  ],
  words: 2,
  options: {
    email: { type: 'string', value: 'ADDRESS', help: 'an address of the person, or a text that was stored as one' },
    cpf: { type: 'string', value: 'CPF|CNPJ', help: 'the document of the person' },
    'external-id': { type: 'string', value: 'ID', help: "the company's own id of the recipient" },
    company: { type: 'string', value: 'ID|NAME', help: 'in this company only' },
    out: { type: 'string', value: 'FILE', help: 'export: write to this file, readable by its owner only' },
  },
  run({ words: [action, word], values }) {
    return actionOf(ACTIONS, action, 'person')(values, word)
  },
}

type Action = (values: Input['values'], word: string | undefined) => Promise<Answer | null>

const ACTIONS: Record<'erase' | 'export' | 'receipt', Action> = {
  erase(values, word) {
    refuse(values, word, ['out'])
    const person = personOf(values)
    return writing(async ({ db, config }: Opened) => {
      const asked = {
        person,
        companyId: await companyOf(db, person),
        requestedBy: operator(),
        pepper: config.hashPepper,
      }
      const receipt = await eraseWithin(db.pool, await requestErasure(db.pool, asked), ERASE_MS)
      return { json: receipt, lines: receiptLines(receipt) }
    })()
  },
  export(values, word) {
    refuse(values, word, [])
    const person = personOf(values)
    const file = text(values, 'out')
    return writing(async ({ db, config }: Opened) => {
      const asked = { person, companyId: await companyOf(db, person), requestedBy: operator() }
      const deps = { db: db.pool, pepper: config.hashPepper, keys: keyRing(config.encryptionKeys) }
      const pieces = await exportPerson(asked, deps)
      if (file === undefined) {
        await writeTo(process.stdout, pieces)
        return null
      }
      await writeToFile(file, pieces)
      return { json: { file }, lines: [`Exported to ${file}`] }
    })()
  },
  receipt(values, word) {
    const unused = Object.keys(values).find(name => name !== 'json')
    if (unused) throw new UsageError(`--${unused} cannot be used here`)
    const receiptId = required(word, 'RECEIPT_ID')
    if (!isUuid(receiptId)) throw new UsageError('RECEIPT_ID must be a UUID')
    return reading(async ({ db }) => {
      const receipt = await findReceipt(db.pool, receiptId)
      if (!receipt) throw notFound(`There is no receipt ${receiptId}.`)
      return { json: receipt, lines: receiptLines(receipt) }
    })()
  },
}

function refuse(values: Input['values'], word: string | undefined, options: string[]): void {
  // Not repeated: it may be the address of a person, in the wrong place.
  if (word !== undefined) throw new UsageError('give the person as --email, --cpf or --external-id')
  const unused = options.find(name => values[name] !== undefined)
  if (unused) throw new UsageError(`--${unused} cannot be used here`)
}

const OPTION_OF: Record<string, string> = { externalId: 'external-id' }

function personOf(values: Input['values']): Person {
  const given = {
    email: text(values, 'email'),
    cpf: text(values, 'cpf'),
    externalId: text(values, 'external-id'),
    company: text(values, 'company'),
  }
  const parsed = personSchema.safeParse(given)
  if (parsed.success) return parsed.data
  const { path, message } = parsed.error.issues[0]!
  if (path.length === 0) throw new UsageError('give --email, --cpf or --external-id')
  const name = String(path[0])
  throw new UsageError(`--${OPTION_OF[name] ?? name}: ${message.replace('externalId', '--external-id')}`)
}

async function companyOf(db: Opened['db'], { company }: Person): Promise<string | null> {
  return company === undefined ? null : (await requireCompany(db, company)).companyId
}

function receiptLines(receipt: ErasureReceipt): string[] {
  const { receiptId, state, found, erased, waiting, unfinished, recordsKept, requestedAt, finishedAt } = receipt
  const counts = ERASED_KINDS.filter(kind => erased[kind] > 0).map(kind => `${kind} ${erased[kind]}`)
  return [
    `Receipt ${receiptId}`,
    `requested ${requestedAt}, ${finishedAt === null ? `not done yet (${state})` : `done ${finishedAt}`}`,
    found
      ? `erased: ${counts.join(', ') || 'nothing yet'}`
      : `Nothing ${unfinished.length > 0 ? 'more ' : ''}of this person was found.`,
    ...(waiting > 0
      ? [
          `${waiting} e-mails are being sent or wait for other recipients; the gateway erases them when they have ended.`,
        ]
      : []),
    ...unfinished.map(one => `The earlier erasure ${one.receiptId} is not done yet: ${one.waiting} e-mails wait.`),
    ...(recordsKept > 0
      ? [
          `${recordsKept} recipient records of these e-mails have another address now and were kept. If they are of this person, erase by --cpf or --external-id, too.`,
        ]
      : []),
  ]
}
