/**
 * Arrays in Postgres' binary form, for `unnest($1::uuid[], …)`. Measured with 300 e-mails: reading them costs Postgres a
 * third of what the same rows cost as JSON, and nothing needs escaping.
 */
const HEADER_BYTES = 20
const NULL_LENGTH = -1

const OID = { bool: 16, int8: 20, int2: 21, int4: 23, text: 25, uuid: 2950 }

/** One dimension, lower bound 1. The flag for nulls is only a hint to Postgres' reader. */
function begin(oid: number, count: number, contentBytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + contentBytes)
  buffer.writeInt32BE(count === 0 ? 0 : 1, 0)
  buffer.writeInt32BE(1, 4)
  buffer.writeInt32BE(oid, 8)
  buffer.writeInt32BE(count, 12)
  buffer.writeInt32BE(1, 16)
  return count === 0 ? buffer.subarray(0, 12) : buffer
}

function fixed<T>(
  oid: number,
  bytes: number,
  values: readonly T[],
  write: (buffer: Buffer, value: T, at: number) => void,
): Buffer {
  const buffer = begin(oid, values.length, values.length * (4 + bytes))
  let at = HEADER_BYTES
  for (const value of values) {
    buffer.writeInt32BE(bytes, at)
    write(buffer, value, at + 4)
    at += 4 + bytes
  }
  return buffer
}

export const int2Array = (values: readonly number[]) =>
  fixed(OID.int2, 2, values, (buffer, value, at) => void buffer.writeInt16BE(value, at))
export const int4Array = (values: readonly number[]) =>
  fixed(OID.int4, 4, values, (buffer, value, at) => void buffer.writeInt32BE(value, at))
export const boolArray = (values: readonly boolean[]) =>
  fixed(OID.bool, 1, values, (buffer, value, at) => void buffer.writeUInt8(value ? 1 : 0, at))
export const int8Array = (values: readonly bigint[]) =>
  fixed(OID.int8, 8, values, (buffer, value, at) => void buffer.writeBigInt64BE(value, at))
export const uuidArray = (values: readonly string[]) => fixed(OID.uuid, 16, values, writeUuid)

function writeUuid(buffer: Buffer, value: string, at: number): void {
  if (buffer.write(value.replaceAll('-', ''), at, 16, 'hex') === 16) return
  // The code that Postgres would answer with: the neighbours in the batch are written without it.
  throw Object.assign(new TypeError('not a UUID'), { code: '22P02' })
}

export function textArray(values: readonly (string | null)[]): Buffer {
  const lengths = values.map(value => (value === null ? NULL_LENGTH : Buffer.byteLength(value)))
  const contentBytes = lengths.reduce((sum, length) => sum + 4 + Math.max(0, length), 0)
  const buffer = begin(OID.text, values.length, contentBytes)
  let at = HEADER_BYTES
  values.forEach((value, index) => {
    buffer.writeInt32BE(lengths[index]!, at)
    at += 4
    if (value !== null) at += buffer.write(value, at)
  })
  return buffer
}
