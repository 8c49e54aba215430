import type { Schemas } from './client.ts'

export type FieldError = NonNullable<Schemas['Problem']['errors']>[number]
type Fields = {
  status: number
  code: string
  message: string
  requestId?: string
  errors?: FieldError[]
  retryAfterSeconds?: number
}

/** An answer of the gateway that is not 2xx, or no answer at all (`OFFLINE`, status 0). */
export class ApiProblem extends Error {
  override name = 'ApiProblem'
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  readonly errors: FieldError[]
  /** When it may be tried again, if the gateway says so. */
  readonly retryAfterSeconds: number | undefined

  constructor({ status, code, message, requestId, errors = [], retryAfterSeconds }: Fields) {
    super(message)
    this.status = status
    this.code = code
    this.requestId = requestId
    this.errors = errors
    this.retryAfterSeconds = retryAfterSeconds
  }

  /** Nothing is wrong with the request: it works again once the gateway or its database is back. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504
  }
}

export const offline = () => new ApiProblem({ status: 0, code: 'OFFLINE', message: '' })

/** From an RFC 9457 body, or from whatever a proxy answered. */
export function problemOf(status: number, body: unknown, retryAfter: string | null = null): ApiProblem {
  const { code, message, title, detail, requestId, errors } = (typeof body === 'object' ? (body ?? {}) : {}) as Partial<
    Record<string, unknown>
  >
  return new ApiProblem({
    status,
    code: typeof code === 'string' ? code : `HTTP_${status}`,
    message: [detail, message, title].find(text => typeof text === 'string' && text !== '') as string,
    ...(typeof requestId === 'string' && { requestId }),
    ...(retryAfter !== null && /^\d+$/.test(retryAfter) && { retryAfterSeconds: Number(retryAfter) }),
    ...(Array.isArray(errors) && { errors: errors as FieldError[] }),
  })
}

export const isProblem = (error: unknown, code?: string): error is ApiProblem =>
  error instanceof ApiProblem && (code === undefined || error.code === code)
