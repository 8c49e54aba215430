import { pipeline, Readable, Transform } from 'node:stream'
import { ANSWER_TOO_LARGE } from '../contracts/provider-errors/network.ts'

/** An answer of a provider is a few hundred bytes; ten of 200 MB each would fill the memory of the process. */
export const MAX_ANSWER_BYTES = 1024 * 1024

/** The request has left, so the outcome of a call that ends with this is unknown. */
export function answerTooLarge(): Error {
  return Object.assign(new Error(`The answer is longer than ${MAX_ANSWER_BYTES} bytes`), { code: ANSWER_TOO_LARGE })
}

/** For the clients of the AWS SDK: `client.middlewareStack.add(limitAnswers, NEXT_TO_THE_WIRE)`. */
export function limitAnswers<Args, Result extends { response: unknown }>(next: (args: Args) => Promise<Result>) {
  return async (args: Args): Promise<Result> => {
    const result = await next(args)
    const response = result.response as { body?: unknown }
    if (response.body instanceof Readable) response.body = limitAnswer(response.body)
    return result
  }
}

/** Before the SDK collects the body. */
export const NEXT_TO_THE_WIRE = { step: 'deserialize', priority: 'low', name: 'limitAnswers' } as const

/** The same bytes; fails, and closes the connection, when there are too many of them. */
export function limitAnswer(body: Readable): Readable {
  let bytes = 0
  const limited = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes > MAX_ANSWER_BYTES) done(answerTooLarge())
      else done(null, chunk)
    },
  })
  // Whoever reads the result sees the error; `pipeline` only has to close the source.
  return pipeline(body, limited, () => {})
}
