import { createHmac } from 'node:crypto'
import { z } from 'zod'
import { parseBareAddress } from './addresses.ts'
import { hasMoreCharacters } from './characters.ts'
import { isValidCpfCnpj } from './documents.ts'
import { hashDocument } from './hashing.ts'

/** `Name <address>`: the address is what identifies a person. */
const BRACKETED = /<([^<>]*)> *$/

/** SQL accepts any text as an address, and keeps it when the e-mail fails: such a text must be found, too. */
const email = z
  .string()
  .min(3)
  .max(400)
  .refine(text => text.includes('@'), 'must have an @')
  .refine(text => !text.includes('\0'), 'must not contain the character NUL')
  .describe('An address, or any text that was given as one: it is then compared as a whole')
  .transform(text => {
    const parsed = parseBareAddress(BRACKETED.exec(text)?.[1] ?? text)
    // Like address_hash in SQL, which knows the lower case of ASCII only.
    return parsed.ok ? parsed.value.normalised : text.replace(/[A-Z]+/g, letters => letters.toLowerCase())
  })

const cpf = z
  .string()
  .max(20)
  .refine(
    text => hasMoreCharacters(text, 20) || isValidCpfCnpj(text),
    'must be a valid CPF or CNPJ; its check digits do not match',
  )

const name = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine(text => hasMoreCharacters(text, max) || !/\p{Cc}/u.test(text), 'must not contain control characters')

/** How a person is named. Several identifiers are of the same person, and each of them is searched for. */
export const personSchema = z
  .strictObject({
    email: email.optional(),
    cpf: cpf.optional().describe('A CPF or CNPJ'),
    externalId: name(255).optional().describe("The company's own id of the recipient"),
    company: name(100).optional().describe('Id or name; every company when absent'),
  })
  .refine(body => body.email !== undefined || body.cpf !== undefined || body.externalId !== undefined, {
    message: 'give email, cpf or externalId',
  })
  .refine(body => body.externalId === undefined || body.company !== undefined, {
    path: ['company'],
    message: 'is required with externalId, which is an id of one company',
  })
  .meta({ id: 'Person', example: { email: 'maria@example.com' } })

export type Person = z.output<typeof personSchema>

const keyed = (text: string, pepper: string) => createHmac('sha256', pepper).update(`person ${text}`).digest('hex')

/** Keyed hashes of the given identifiers: for audit and receipts, which must not name the person. */
export function personHashes({ email, cpf, externalId }: Person, companyId: string | null, pepper: string): string[] {
  return [
    ...(email === undefined ? [] : [personAddressHash(email, pepper)]),
    ...(cpf === undefined ? [] : [keyed(`document ${hashDocument(cpf, pepper)}`, pepper)]),
    ...(externalId === undefined ? [] : [keyed(`external ${companyId} ${externalId}`, pepper)]),
  ]
}

export const personAddressHash = (address: string, pepper: string) => keyed(`email ${address}`, pepper)

/** What an erasure counts. The names are those of the receipt. */
export const ERASED_KINDS = [
  'emails',
  'cancelled',
  'recipients',
  'recipientRecords',
  'contents',
  'attachments',
  'events',
  'captured',
  'providerEvents',
  'webhookDeliveries',
  'deadLetters',
  'idempotencyAnswers',
] as const
export type ErasedCounts = Record<(typeof ERASED_KINDS)[number], number>

const instant = z.iso.datetime()

export const receiptSchema = z
  .object({
    receiptId: z.uuid(),
    state: z.enum(['searching', 'erasing', 'done']).describe('The gateway goes on by itself until it is done'),
    found: z.boolean().describe('false: this erasure found nothing. See unfinished'),
    erased: z.object(
      Object.fromEntries(ERASED_KINDS.map(kind => [kind, z.int()])) as Record<keyof ErasedCounts, z.ZodInt>,
    ),
    waiting: z.int().describe('E-mails that are being sent, or wait for other recipients; erased when they have ended'),
    unfinished: z
      .array(z.object({ receiptId: z.uuid(), waiting: z.int() }))
      .describe('Earlier erasures of the same person that are not done yet'),
    recordsKept: z
      .int()
      .describe(
        'Recipient records that erased e-mails belonged to, and that have another address now. They are kept, since families share addresses: if they are of this person, erase by cpf or externalId, too',
      ),
    companyId: z.uuid().nullable().describe('null: in every company'),
    subjectHashes: z.array(z.string()).describe('Keyed hashes of the given identifiers, as in the audit log'),
    requestedBy: z.string(),
    requestedAt: instant,
    finishedAt: instant.nullable(),
  })
  .meta({ id: 'ErasureReceipt' })
export type ErasureReceipt = z.infer<typeof receiptSchema>

const open = z.record(z.string(), z.unknown())

export const personExportSchema = z
  .object({
    exportedAt: instant,
    addresses: z.array(z.string()),
    records: z.array(open).describe('Recipient records, with the decrypted document as cpfCnpj'),
    suppressions: z.array(open).describe('For each address, whether it is suppressed and why'),
    emails: z.array(open).describe('Oldest first, with content, names of the attachments and events'),
    recordsLeftOut: z
      .int()
      .describe(
        'Recipient records that these e-mails belong to, and that have another address now. If they are of this person, export by cpf or externalId, too',
      ),
  })
  .meta({ id: 'PersonExport' })
