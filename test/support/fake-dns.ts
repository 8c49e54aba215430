import { createSocket } from 'node:dgram'
import type { AddressInfo } from 'node:net'

const TYPES = { CNAME: 5, MX: 15, TXT: 16 } as const
type FakeDnsType = keyof typeof TYPES
export type FakeDnsRecord = { name: string; type: FakeDnsType; value: string; priority?: number }

export type FakeDns = {
  /** For DNS_SERVERS. */
  address: string
  records: FakeDnsRecord[]
  /** Answers nothing at all. */
  silent: boolean
  close: () => Promise<void>
}

/** A name server on UDP of the loopback (RFC 1035), as far as the lookups of the gateway need one. */
export async function startFakeDns(): Promise<FakeDns> {
  const socket = createSocket('udp4')
  const fake: FakeDns = {
    address: '',
    records: [],
    silent: false,
    close: () => new Promise(resolve => socket.close(() => resolve())),
  }
  socket.on('message', (query, { port, address }) => {
    if (!fake.silent) socket.send(answer(query, fake.records), port, address)
  })
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve))
  fake.address = `127.0.0.1:${(socket.address() as AddressInfo).port}`
  return fake
}

const HEADER = 12

function answer(query: Buffer, records: FakeDnsRecord[]): Buffer {
  const { name, end } = readName(query, HEADER)
  const type = query.readUInt16BE(end)
  const atName = records.filter(record => record.name.toLowerCase() === name.toLowerCase())
  const found = atName.filter(record => TYPES[record.type] === type)
  const header = Buffer.alloc(HEADER)
  query.copy(header, 0, 0, 2)
  // A response with recursion; 3 is NXDOMAIN.
  header.writeUInt16BE(0x8580 | (atName.length > 0 ? 0 : 3), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(found.length, 6)
  return Buffer.concat([header, query.subarray(HEADER, end + 4), ...found.map(record => resource(record))])
}

function readName(packet: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = []
  let at = start
  while (packet[at] !== 0) {
    const length = packet[at]!
    labels.push(packet.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), end: at + 1 }
}

function resource(record: FakeDnsRecord): Buffer {
  const data = dataOf(record)
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(TYPES[record.type], 0)
  fixed.writeUInt16BE(1, 2)
  fixed.writeUInt32BE(60, 4)
  fixed.writeUInt16BE(data.length, 8)
  return Buffer.concat([encodeName(record.name), fixed, data])
}

function dataOf({ type, value, priority = 0 }: FakeDnsRecord): Buffer {
  if (type === 'CNAME') return encodeName(value)
  if (type === 'MX') return Buffer.concat([Buffer.from([priority >> 8, priority & 255]), encodeName(value)])
  const parts = value.match(/.{1,255}/g) ?? ['']
  return Buffer.concat(parts.map(part => Buffer.concat([Buffer.from([part.length]), Buffer.from(part, 'latin1')])))
}

function encodeName(name: string): Buffer {
  const labels = name.replace(/\.$/, '').split('.')
  return Buffer.concat([
    ...labels.map(label => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')])),
    Buffer.from([0]),
  ])
}
