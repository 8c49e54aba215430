import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { describe, expect, test } from 'vitest'
import { uuidv7 } from '../text/uuid.ts'
import {
  EMAIL_LINES,
  type EmailLine,
  type EmailLineFields,
  isSampled,
  type LoggedEmail,
  makeEmailLog,
} from './email-log.ts'
import { makeLog } from './log.ts'

const TRACE_ID = 'ab'.repeat(16)

const email: LoggedEmail = {
  outboxId: '019a91f0-0000-7000-8000-000000000001',
  companyId: 'c',
  requestId: 'r',
  externalId: 'BOL 529.982.247-25',
  recipients: [
    { kind: 'cc', address: 'ana@example.com' },
    { kind: 'to', address: 'joao.silva@example.com' },
  ],
  recipientRecord: { cpfCnpjHash: 'deadbeef0123456789', email: 'joao.silva@example.com' },
  traceparent: `00-${TRACE_ID}-${'cd'.repeat(8)}-01`,
}

/** Every fact that a line may have. */
const facts: Required<EmailLineFields> = {
  ...{ state: 'SENT', attempt: 1, maxAttempts: 5, provider: 'ses', messageId: 'm', durationMs: 3 },
  ...{ errorCode: 'E', providerCode: 'P', errorReason: 'because', isRetryable: true },
  ...{ nextRetryDelay: 10, graceSeconds: 5, bounceType: 'Permanent' },
}

function logged(sample: number, write: (log: ReturnType<typeof makeEmailLog>) => void, level = 'trace') {
  const lines: string[] = []
  const log: Logger = makeLog({ level, pretty: false, destination: { write: line => void lines.push(line) } })
  write(makeEmailLog(log, sample))
  return lines.map(line => JSON.parse(line))
}

test('a line names the e-mail by all its ids and shows its people masked', () => {
  const [line] = logged(1, log => log('sent', email, { state: 'SENT', attempt: 1 }))
  expect(line).toEqual({
    ...{ level: 'info', message: 'E-mail sent', timestamp: expect.any(String) },
    ...{ outboxId: email.outboxId, jobId: email.outboxId, companyId: 'c', requestId: 'r', state: 'SENT', attempt: 1 },
    externalId: 'BOL ***.***.***-25',
    to: 'j***@e***.com',
    recipient: { cpfCnpjHash: 'deadbeef...', email: 'j***@e***.com' },
    trace_id: TRACE_ID,
  })
})

test('what is not known is left out', () => {
  const bare = { ...email, externalId: null, recipients: [], recipientRecord: null, traceparent: null }
  const [line] = logged(1, log => log('accepted', bare, { state: 'QUEUED' }))
  const always = ['level', 'timestamp', 'message', 'outboxId', 'jobId', 'companyId', 'requestId', 'state']
  expect(Object.keys(line).toSorted()).toEqual(always.toSorted())
})

describe('sampling', () => {
  const ids = Array.from({ length: 2_000 }, () => uuidv7())

  test('takes about the share of the ids, and always the same ones', () => {
    const taken = ids.filter(id => isSampled(id, 0.1))
    expect(taken.length).toBeGreaterThan(120)
    expect(taken.length).toBeLessThan(290)
    expect(ids.filter(id => isSampled(id, 0.1))).toEqual(taken)
    expect(ids.filter(id => isSampled(id, 0.3))).toEqual(expect.arrayContaining(taken))
  })

  test('all ordinary lines of an e-mail are written, or none; its problems always', () => {
    const names = Object.keys(EMAIL_LINES) as EmailLine[]
    const isProblem = (name: EmailLine) => ['warn', 'error'].includes(EMAIL_LINES[name].level)
    for (const outboxId of ids.slice(0, 40)) {
      const lines = logged(0.5, log => {
        for (const name of names) log(name, { ...email, outboxId }, facts)
      })
      const expected = isSampled(outboxId, 0.5) ? names : names.filter(isProblem)
      expect(lines.map(({ message }) => message)).toEqual(expected.map(name => EMAIL_LINES[name].message))
    }
  })

  test('0 writes problems only', () => {
    expect(logged(0, log => log('sent', email, facts))).toEqual([])
    expect(logged(0, log => log('bounced', email, facts))).toHaveLength(1)
  })
})

test('a line below the level is not written', () => {
  expect(logged(1, log => log('sent', email, facts), 'warn')).toEqual([])
})

describe('docs/logs.md', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/logs.md'), 'utf8')
  const tableUnder = (heading: string) => {
    const [, section] = page.split(`\n## ${heading}\n`)
    const rows = section!.split('\n## ')[0]!.split('\n')
    return rows
      .filter(row => row.startsWith('| `'))
      .map(row =>
        row
          .split('|')
          .slice(1, -1)
          .map(cell => cell.trim()),
      )
  }

  test('lists every field of an e-mail line, and no other', () => {
    const [line] = logged(1, log => log('sent', email, facts))
    const nested = Object.keys(line.recipient).map(name => `recipient.${name}`)
    const fields = [...Object.keys(line).filter(name => name !== 'recipient'), ...nested]
    const listed = tableUnder('Fields of an e-mail').map(([name]) => name!.replaceAll('`', ''))
    expect(listed.toSorted()).toEqual(fields.toSorted())
  })

  test('lists every e-mail line with its level', () => {
    const lines = Object.values(EMAIL_LINES).map(({ level, message }) => [`\`${message}\``, level])
    const listed = tableUnder('Lines of an e-mail').map(([message, level]) => [message, level])
    expect(listed).toEqual(lines)
  })
})
