import { pipeline, Readable, Transform } from 'node:stream'
import { ANSWER_TOO_LARGE } from '../contracts/provider-errors/network.ts'

/** A normal response has a few hundred bytes; without a limit, ten of 200 MB would fill the memory of the process. */
export const MAX_ANSWER_BYTES = 1024 * 1024

/** The request was already sent, so a call that ends with this error has an unknown outcome. */
export function answerTooLarge(): Error {
  return Object.assign(new Error(`The answer is longer than ${MAX_ANSWER_BYTES} bytes`), { code: ANSWER_TOO_LARGE })
}

/** For clients of the AWS SDK: `client.middlewareStack.add(limitAnswers, LIMIT_ANSWERS_STEP)`. */
export function limitAnswers<Args, Result extends { response: unknown }>(next: (args: Args) => Promise<Result>) {
  return async (args: Args): Promise<Result> => {
    const result = await next(args)
    const response = result.response as { body?: unknown }
    if (response.body instanceof Readable) response.body = limitAnswer(response.body)
    return result
  }
}

/** Runs before the SDK reads the body. */
export const LIMIT_ANSWERS_STEP = { step: 'deserialize', priority: 'low', name: 'limitAnswers' } as const

/** Passes the bytes on; fails and closes the connection when there are too many. */
function limitAnswer(body: Readable): Readable {
  let bytes = 0
  const limited = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes > MAX_ANSWER_BYTES) done(answerTooLarge())
      else done(null, chunk)
    },
  })
  // The reader of the result gets the error; `pipeline` only has to close the source.
  return pipeline(body, limited, () => {})
}
