import type { Readable } from 'node:stream'
import type { FairSlots, Release } from '../../platform/semaphores.ts'
import { malformed, Refused } from './replies.ts'

export type MessageLimits = {
  /** As large as a send body: 10 MB of attachments in base64, HTML, text and headers. */
  maxBytes: number
  /** Smaller messages are not counted: the connection limit bounds them. */
  countFrom: number
  /** How long a message waits for its memory. */
  maxWaitMs: number
  /** From DATA to the final dot. */
  arriveWithinMs: number
}

export type ReadDeps = { limits: MessageLimits; memory: FairSlots }
/** `release` gives the memory back, once the message has been accepted or refused. */
type ReadMessage = { message: Buffer; release: Release }

/** All of the message, in bounded memory. What is refused is read to its end, because only then can SMTP say so. */
export async function readMessage(
  stream: Readable,
  companyId: string,
  announcedBytes: number | null,
  { limits, memory }: ReadDeps,
): Promise<ReadMessage> {
  const reserved = reservation(memory, companyId, announcedBytes, limits)
  const seconds = limits.arriveWithinMs / 1000
  const late = new Refused(421, '4.4.2', `The message did not arrive within ${seconds} s`)
  const timer = setTimeout(() => stream.destroy(late), limits.arriveWithinMs)
  const chunks: Buffer[] = []
  let bytes = 0
  let lastByte = 0
  let refusal: Refused | null = null
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length
      refusal ??= tooLarge(bytes, limits) ?? problemOfLines(chunk, lastByte) ?? (await reserved.grow(bytes))
      if (refusal) {
        chunks.length = 0
        reserved.release()
      } else chunks.push(chunk)
      lastByte = chunk.at(-1) ?? lastByte
    }
    if (refusal) throw refusal
    return { message: Buffer.concat(chunks), release: reserved.release }
  } catch (error) {
    reserved.release()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

function tooLarge(bytes: number, { maxBytes }: MessageLimits): Refused | null {
  return bytes > maxBytes ? new Refused(552, '5.3.4', `The message is larger than ${maxBytes} bytes`) : null
}

const CR = 13
const LF = 10

/**
 * SMTP smuggling: mail servers disagree on whether a bare line feed ends a line, so one message can look like two. Lines end with CRLF
 * and nothing else.
 */
function problemOfLines(chunk: Buffer, byteBefore: number): Refused | null {
  let before = byteBefore
  for (const byte of chunk) {
    if (byte === LF ? before !== CR : before === CR)
      return malformed('The message has a bare CR or LF: every line must end with CRLF')
    if (byte === 0) return malformed('The message has a NUL byte')
    before = byte
  }
  return null
}

/** Reserves what was announced by SIZE, and all that a message may have when it turns out to be larger or said nothing. */
function reservation(memory: FairSlots, companyId: string, announcedBytes: number | null, limits: MessageLimits) {
  const { maxBytes, countFrom, maxWaitMs } = limits
  const releases: Release[] = []
  let free = countFrom
  let held = 0
  return {
    async grow(bytes: number): Promise<Refused | null> {
      if (bytes <= free) return null
      const wanted = announcedBytes !== null && bytes <= announcedBytes ? Math.min(announcedBytes, maxBytes) : maxBytes
      const release = await memory.acquire(companyId, wanted - held, maxWaitMs)
      if (!release) return new Refused(451, '4.3.2', 'The server is receiving too much data at once; try again')
      releases.push(release)
      held = wanted
      free = wanted
      return null
    },
    release: () => {
      for (const release of releases.splice(0)) release()
    },
  }
}
